"""Checkpoints of the backup that is running: put now and then, and when it breaks off.

Owns when one is put. What it holds is made by the caller; the order packs, index, checkpoint is the session's. One
thread.
"""

import contextlib
from collections.abc import Callable, Iterator

from repositories.engine.backup.options import BackupOptions
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.session import BackupSession
from repositories.engine.clock import Clock
from repositories.engine.errors import (
    CommitRefusedError,
    EngineError,
    LeaseLostError,
    OperationCancelledError,
    SourceError,
)

# What is left whole by these can be gone on from. After an error of the repository nothing more is written.
_BREAKS_OFF = (OperationCancelledError, LeaseLostError, CommitRefusedError, SourceError)


class Checkpoints:
    """Puts a checkpoint whenever it is time and content was read since the last one.

    The intervals begin short and double up to the longest: a kill early in a first backup costs about half of the time
    so far, and one late in a long backup no more than the longest.
    """

    def __init__(self, session: BackupSession, clock: Clock, pulse: Pulse, options: BackupOptions) -> None:
        self._session = session
        self._clock = clock
        self._pulse = pulse
        self._longest = options.checkpoint_seconds
        self._shortest = min(options.first_checkpoint_seconds, self._longest)
        self._started = clock.monotonic()
        self._next = self._started + self._shortest
        self._read = 0
        self._root: Callable[[], bytes | None] = _nothing
        pulse.each_beat = self._look

    def hold(self, root: Callable[[], bytes | None]) -> None:
        """Have `root` give the root of what has been written so far, None for nothing."""
        self._root = root

    @contextlib.contextmanager
    def guarding(self) -> Iterator[None]:
        """Put a last checkpoint when the enclosed backup ends early and its session is whole."""
        try:
            yield
        except _BREAKS_OFF:
            # Why the backup ends matters more; without this checkpoint more is read again, and nothing is lost.
            with contextlib.suppress(EngineError):
                self._put(breaks_off=True)
            raise

    def _look(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next:
            self._put(breaks_off=False)
            now = self._clock.monotonic()
            self._next = now + min(max(now - self._started, self._shortest), self._longest)

    def _put(self, *, breaks_off: bool) -> None:
        if self._pulse.bytes_read == self._read:
            return
        root = self._root()
        if root is None:
            # What was read of a first large file is found again by its chunks.
            self._session.flush()
        else:
            self._session.checkpoint(root, breaks_off=breaks_off)
        # What was read of the object at hand is in no entry yet.
        self._read = self._pulse.read_before


def _nothing() -> None:
    return None
