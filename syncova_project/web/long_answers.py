"""Answers that take long: how many threads of a web process they may hold, and when a stopping process ends them.

Owns the places and the sign of the end. Half of the threads are never held: the next request is answered at once,
however many follow a log. Knows no request.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import ClassVar, Final

from django.conf import settings

from syncova_project.errors import SyncovaError

STOPPING: Final = threading.Event()


class TooManyLongAnswersError(SyncovaError):
    """As many requests of this kind are being answered as this server has places for; may be repeated."""

    code: ClassVar[str] = "TOO_MANY_LONG_ANSWERS"
    status: ClassVar[int] = 429
    wait: ClassVar[float] = 5.0


class Places:
    """Counts the threads of this process that a long answer holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = 0

    def take(self) -> bool:
        """Take a place for this thread, if there is one."""
        with self._lock:
            if self._held >= settings.SYNCOVA_LONG_ANSWERS:
                return False
            self._held += 1
            return True

    def give_back(self) -> None:
        """Give a taken place back."""
        with self._lock:
            self._held -= 1

    @contextlib.contextmanager
    def taken(self) -> Iterator[bool]:
        """Hold a place meanwhile; yields False where there is none."""
        has_place = self.take()
        try:
            yield has_place
        finally:
            if has_place:
                self.give_back()


PLACES: Final = Places()


def pause(seconds: float) -> bool:
    """Wait; False as soon as this process stops."""
    return not STOPPING.wait(seconds)
