"""Progress of a check, the question whether it was cancelled, and the time after which nothing more is read.

Owns how often either is asked: every part of a check calls it for each small thing that it does.
"""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from repositories.engine.backup.options import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.progress import Progress

_SECONDS_BETWEEN: Final = 0.2
_T = TypeVar("_T")


class Pulse:
    """Asked several times a second. `stopped`: the time was over before all was read that should be."""

    def __init__(self, hooks: Hooks, until: float | None) -> None:
        self._hooks = hooks
        self._until = until
        self.stopped = False
        self._next = 0.0
        self.phase = "checking"
        self.packs = 0
        self.bytes_read = 0

    def __call__(self) -> None:
        """Report, and raise OperationCancelledError if the check was cancelled."""
        now = self._hooks.clock.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        if self._hooks.cancelled():
            raise OperationCancelledError("the check was cancelled", hint="run it again")
        self._hooks.report(Progress(self.phase, self.packs, self.bytes_read, 0, b""))

    def in_time(self, packs: Iterable[_T]) -> Iterator[_T]:
        """Yield packs until the time is over."""
        for pack in packs:
            if self._until is not None and self._hooks.clock.monotonic() >= self._until:
                self.stopped = True
                return
            yield pack
