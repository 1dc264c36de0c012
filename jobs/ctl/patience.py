"""Looking again until something has changed: soon at first, then once a second. Owns the distances alone."""

from collections.abc import Iterator
from typing import Final

from syncova_project import clock

_FIRST, _GROWS, _LONGEST = 0.1, 1.5, 1.0
FOR_EVER: Final = float("inf")


def looks(seconds: float = FOR_EVER) -> Iterator[None]:
    """Yield each time that it is time to look, for at most `seconds`."""
    end = clock.monotonic() + seconds
    pause = _FIRST
    while clock.monotonic() < end:
        clock.sleep(pause)
        pause = min(pause * _GROWS, _LONGEST)
        yield
