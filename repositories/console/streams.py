"""The three standard streams: a program that was started without one gets a stand-in before it opens anything.

Owns the stand-ins. Without them the next file or pipe to be opened would take the free number, and the result would be
written into it. Imports next to nothing: it comes first.
"""

import os
import sys


def complete() -> None:
    """Give standard input, output and error, where they are closed, a stand-in that is at its end and takes no data."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Opened for reading only: what is written there fails, and is told, instead of vanishing.
            os.open(os.devnull, os.O_RDONLY)
            os.set_inheritable(number, True)  # noqa: FBT003  (takes no names)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
