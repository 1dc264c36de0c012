"""The pulse of a running backup: cancel, progress and bandwidth, looked after while files are read.

Owns how often the caller's hooks are asked. One thread.
"""

from collections.abc import Callable

from repositories.engine.backup.options import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.progress import Progress

ENTRIES_BETWEEN = 64
_SECONDS_BETWEEN = 0.2
_LARGE_READ = 65536


class Pulse:
    """Counts what happens and lets the hooks know several times a second.

    `read_before` are the bytes that had been read when the object began that is being described. `again` tells
    what running a cancelled backup again does.
    """

    def __init__(self, hooks: Hooks, again: str = "run it again to go on") -> None:
        self._hooks = hooks
        self._again = again
        self._bucket = hooks.read_bucket
        self._next = 0.0
        self._left = 0
        self.files = 0
        self.bytes_read = 0
        self.read_before = 0
        self.bytes_stored = 0
        self.current = b""
        self.each_beat: Callable[[], None] = _nothing

    def entry(self) -> None:
        """Called before each object. Raises OperationCancelledError."""
        self.read_before = self.bytes_read
        self._left -= 1
        if self._left < 0:
            self.beat()

    def passed(self, count: int) -> None:
        """Called after so many objects of which nothing was read. Raises OperationCancelledError."""
        self._left -= count
        if self._left < 0:
            self.beat()

    def taken(self, count: int) -> None:
        """Called after each read of content; waits for the bandwidth limit. Raises OperationCancelledError."""
        self.bytes_read += count
        if self._bucket is not None:
            self._bucket.take(count)
            self.beat()
        elif count > _LARGE_READ:
            self.beat()

    def beat(self) -> None:
        """Ask for cancel and report, if it is time."""
        self._left = ENTRIES_BETWEEN
        now = self._hooks.clock.monotonic()
        if now >= self._next:
            self._next = now + _SECONDS_BETWEEN
            self.check_cancelled()
            self.report("reading")
            self.each_beat()

    def check_cancelled(self) -> None:
        """Raise OperationCancelledError when the caller wants to stop."""
        if self._hooks.cancelled():
            raise OperationCancelledError("the backup was cancelled", hint=f"nothing of it is visible; {self._again}")

    def report(self, phase: str) -> None:
        """Report progress now."""
        self._hooks.report(Progress(phase, self.files, self.bytes_read, self.bytes_stored, self.current))


def _nothing() -> None:
    """Nobody else looks on."""
