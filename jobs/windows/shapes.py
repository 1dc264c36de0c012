"""The two shapes of a window: once between two instants, or again and again from a wall time for a length (B8).

Owns when a shape is open. Openings are half-open; a length is elapsed time, so a window of eight hours lasts eight
hours on the days when the clocks change too.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jobs.calendar.zones import load_zone

MAX_LENGTH: Final = dt.timedelta(days=7)
_DAY: Final = dt.timedelta(days=1)
# The longest window, and a day more: a start that falls into a gap comes later by up to a whole day.
LOOK_BACK_DAYS: Final = 8


@dataclass(frozen=True, slots=True)
class Opening:
    """One stretch of a window, from `start` up to but without `end` (both UTC)."""

    start: dt.datetime
    end: dt.datetime


@dataclass(frozen=True, slots=True)
class OneOff:
    """Open once."""

    starts_at: dt.datetime
    ends_at: dt.datetime

    def covering(self, instant: dt.datetime) -> Opening | None:
        """Return the opening that holds `instant`."""
        return Opening(self.starts_at, self.ends_at) if self.starts_at <= instant < self.ends_at else None

    def openings(self, instant: dt.datetime, until: dt.datetime) -> Iterator[Opening]:
        """Yield what of it is not over at `instant` and begins no later than `until`."""
        if instant < self.ends_at and self.starts_at <= until:
            yield Opening(self.starts_at, self.ends_at)

    def next_start(self, instant: dt.datetime, until: dt.datetime) -> dt.datetime | None:
        """Return the first start later than `instant` and no later than `until`."""
        return self.starts_at if instant < self.starts_at <= until else None


@dataclass(frozen=True, slots=True)
class Recurring:
    """Open from `start` on each of `days` (ISO numbers, Monday 1) of the zone's calendar, for `length`."""

    days: frozenset[int]
    start: dt.time
    length: dt.timedelta
    zone_name: str

    def covering(self, instant: dt.datetime) -> Opening | None:
        """Return the opening that holds `instant`; of several the one that ends last."""
        today = instant.astimezone(load_zone(self.zone_name)).date()
        starts = self._starts(today + _DAY, -(LOOK_BACK_DAYS + 1))
        return next((Opening(one, one + self.length) for one in starts if one <= instant < one + self.length), None)

    def openings(self, instant: dt.datetime, until: dt.datetime) -> Iterator[Opening]:
        """Yield the openings that are not over at `instant` and begin no later than `until`, in order."""
        first = instant.astimezone(load_zone(self.zone_name)).date() - LOOK_BACK_DAYS * _DAY
        for start in self._starts(first, (until - instant).days + 2 * LOOK_BACK_DAYS):
            if instant < start + self.length and start <= until:
                yield Opening(start, start + self.length)

    def next_start(self, instant: dt.datetime, until: dt.datetime) -> dt.datetime | None:
        """Return the first start later than `instant` and no later than `until`."""
        yesterday = instant.astimezone(load_zone(self.zone_name)).date() - _DAY
        for start in self._starts(yesterday, (until - instant).days + LOOK_BACK_DAYS):
            if start > until:
                return None
            if start > instant:
                return start
        return None

    def _starts(self, first: dt.date, count: int) -> Iterator[dt.datetime]:
        """Yield the starts on the days from `first` on, backwards where `count` is negative: always in order."""
        step = 1 if count > 0 else -1
        for offset in range(0, count + step, step):
            date = first + offset * _DAY
            if date.isoweekday() in self.days:
                yield _start_on(date, self.start, self.zone_name)


Shape = OneOff | Recurring


@lru_cache(maxsize=65_536)
def _start_on(date: dt.date, time: dt.time, zone_name: str) -> dt.datetime:
    """Return when the window opens on a local date, by the rules of gaps and folds that schedules follow (B2, B3).

    Both follow from `fold=0`, which takes the offset from before the change of the clocks.
    """
    return dt.datetime.combine(date, time, load_zone(zone_name)).replace(fold=0).astimezone(dt.UTC)
