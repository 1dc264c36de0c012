"""Starts the engine child, before it is known what for. Imports the standard library only: it must cost nothing.

Owns the child's command line and environment. Reads no environment: what the child needs beyond the minimum
(credentials of a remote store, a directory for temporary files) is passed in.
"""

import os
import subprocess
import sys
from collections.abc import Mapping

_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def spawn(
    extra: Mapping[str, str] | None = None, operation: str = "", pipes: tuple[int, ...] = ()
) -> "subprocess.Popen[bytes]":
    """Start a child that waits for its request on stdin; it ends when that is closed.

    If it is known by now for which operation, the child gets ready for that while it waits. It inherits `pipes`.
    The thread that starts it must outlive it: Linux kills the child with that thread.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "repositories.engine.process", *filter(None, (operation,))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(extra),
        cwd="/",
        start_new_session=True,
        pass_fds=pipes,
    )


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the child's environment: the minimum that finds the package, then `extra`."""
    minimum = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONPATH": _ROOT, "PYTHONUTF8": "1"}
    return {**minimum, **(extra or {})}
