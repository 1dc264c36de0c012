"""Ends a program with its exit code, also where a library in another language still has threads.

Owns the way out of the process alone: all that is told was told before.
"""

import atexit
import contextlib
import os
import sys

_THREADED = "opendal"


def leave(code: int) -> None:
    """End this process with `code`; what was registered for the end of the process is done.

    The threads of the library for far-away storage are not waited for: one that came back while the interpreter took
    itself apart ended the process by SIGABRT now and then, after everything had been said.
    """
    if _THREADED not in sys.modules:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
