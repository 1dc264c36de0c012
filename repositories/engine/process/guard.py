"""No orphan: ties the engine child's life to its parent's, also while a C call holds the interpreter.

Two ties. Linux kills the child with the thread that started it (PR_SET_PDEATHSIG). And a guardian process, forked
before anything is imported, watches stdin: once no one holds its other end any more, the child has the grace to
end by itself, and is then killed by a process that no stuck call can stop.
Must be called before the first thread starts. Never reads stdin.
"""

import os
import select
import signal
import time

from repositories.engine.ties import die_with_parent

GRACE_SECONDS = 4.0
_LOOK_SECONDS = 1.0


class Guardian:
    """The watching process; `stop` before a normal end, so that it leaves no zombie behind."""

    def __init__(self, stdin: int, grace_seconds: float = GRACE_SECONDS) -> None:
        guarded = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _watch(guarded, stdin, grace_seconds)

    def stop(self) -> None:
        """End the guardian and wait for it."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _watch(guarded: int, stdin: int, grace_seconds: float) -> None:
    """Body of the guardian; never returns."""
    try:
        die_with_parent()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        # The parent must see the end of the child's output although this process lives a little longer.
        os.dup2(stdin, 0)
        os.closerange(1, 1024)
        # No events asked for: poll then reports only that the other end is gone, and never data.
        poll = select.poll()
        poll.register(0, 0)
        while os.getppid() == guarded and not poll.poll(_LOOK_SECONDS * 1000):
            pass
        time.sleep(grace_seconds)
        if os.getppid() == guarded:
            os.kill(guarded, signal.SIGKILL)
    finally:
        os._exit(0)
