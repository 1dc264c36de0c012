"""The pulse of a restore: cancel, progress and bandwidth, from several threads.

Owns how often the caller's hooks are asked.
"""

import threading

from repositories.engine.backup.options import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.progress import Progress
from repositories.engine.restore.tally import Tally

_SECONDS_BETWEEN = 0.2


class RestorePulse:
    """Looks after the hooks of one restore."""

    def __init__(self, hooks: Hooks, tally: Tally) -> None:
        self._hooks = hooks
        self._tally = tally
        self._next = 0.0
        self._lock = threading.Lock()
        self._written = 0
        self.phase = "restoring"
        self.current = b""

    def entry(self, path: bytes) -> None:
        """Called for each object, by the walking thread. Raises OperationCancelledError."""
        self.current = path
        self.beat()

    def taken(self, count: int) -> None:
        """Called before content is written, by any thread; waits for the bandwidth limit."""
        if self._hooks.read_bucket is not None:
            self._hooks.read_bucket.take(count)
        with self._lock:
            self._written += count
        self.beat()

    def beat(self) -> None:
        """Ask for cancel and report, if it is time."""
        now = self._hooks.clock.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        if self._hooks.cancelled():
            raise OperationCancelledError("the restore was cancelled", hint="run it again to go on where it stopped")
        self.report()

    def warn(self, text: str) -> None:
        """Tell people something that the restore goes on after."""
        self._hooks.log("warning", text)

    def report(self) -> None:
        """Report progress now."""
        tally = self._tally
        self._hooks.report(Progress(self.phase, tally.files, self._written, 0, self.current))
