"""Ends a program with its exit code, also where libraries for far-away storage still have threads.

Owns the way out of the process alone: all that is told was told before.
"""

import atexit
import contextlib
import os
import sys

_THREADED = frozenset({"opendal", "asyncssh"})


def leave(code: int) -> None:
    """End this process with `code`; what was registered for the end of the process is done.

    Threads that ask far-away storage are not waited for: one that came back while the interpreter took itself apart
    ended the process by SIGABRT now and then, after everything had been said, and one that waits for a server that
    does not answer would hold up the end for minutes.
    """
    if _THREADED.isdisjoint(sys.modules):
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
