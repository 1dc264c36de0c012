"""Lets the engine child start while the program itself is still being imported: the two take about as long.

Owns the one child that waits. Imports next to nothing, on purpose.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence

from repositories.engine.process.spawn import spawn
from syncova_project import env

_waiting: list["subprocess.Popen[bytes]"] = []


def begin(words: Sequence[str], verbs: frozenset[str]) -> None:
    """Start a child if the first word of the command line is a verb that will need one."""
    if words and words[0] in verbs and "--help" not in words:
        _waiting.append(start_child(words[0]))


def start_child(operation: str = "") -> "subprocess.Popen[bytes]":
    """Return the child that waits, or a new one, which gets ready for `operation` if that is known."""
    if _waiting:
        return _waiting.pop()
    directory = env.foreign("TMPDIR")
    return spawn({} if directory is None else {"TMPDIR": directory}, operation)


def end() -> None:
    """End a child that nobody asked for: the command line was wrong, or nothing was to be done."""
    while _waiting:
        child = _waiting.pop()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
