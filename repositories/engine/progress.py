"""How far an operation is: the value that operations report, and the gate that keeps reports rare.

Owns no output: who shows progress (a bar, a line, a row) decides alone how. Reports may be lost, never awaited.
"""

import threading
from collections.abc import Callable

import msgspec

INTERVAL_SECONDS = 0.5


class Progress(msgspec.Struct, frozen=True):
    """Figures since the start of the operation (of one source in a backup); `current` is a raw path."""

    phase: str
    files: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    current: bytes = b""


Report = Callable[[Progress], None]


class ProgressGate:
    """Passes reports on at most every `interval` seconds; a new phase always passes.

    Threads: may be called from any; `sink` is called by one at a time.
    """

    def __init__(self, sink: Report, monotonic: Callable[[], float], interval: float = INTERVAL_SECONDS) -> None:
        self._sink = sink
        self._monotonic = monotonic
        self._interval = interval
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        """Pass `progress` on when it is time for one."""
        if progress.phase == self._phase and self._monotonic() < self._next:
            return
        with self._lock:
            now = self._monotonic()
            if progress.phase == self._phase and now < self._next:
                return
            self._phase = progress.phase
            self._next = now + self._interval
            self._sink(progress)
