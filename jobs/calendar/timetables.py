"""Times of the day on certain dates of a zone: what all calendar kinds come to, and the one walk over their instants.

Owns order and uniqueness of instants: strictly increasing, whatever gaps and folds do to the order of wall times (B5).
"""

import datetime as dt
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from jobs.calendar.dates import Dates
from jobs.calendar.limits import FIRST_YEAR, HORIZON_YEARS
from jobs.calendar.plans import Occurrence, Start
from jobs.calendar.wallclock import DAY, instant_of, merged, occurrence, starts_on, steady_offset
from jobs.calendar.zones import load_zone

_EARLIEST: Final = dt.date(FIRST_YEAR, 1, 2)
_MOMENT: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Timetable:
    """At `times` (since midnight) on `dates`; wall times, or with `real` each real minute that shows one (B5)."""

    zone_name: str
    dates: Dates
    times: tuple[dt.timedelta, ...]
    real: bool = False

    def starts(self, after: dt.datetime) -> Iterator[Start]:
        """Yield starts strictly later than `after`, each instant once.

        An offset is shorter than a day: the starts of a date lie within a day around it, and what lies before that of
        the next date is final. Where two wall times meet in one instant, the one that its clock shows stands for both.
        """
        zone, held, newest = load_zone(self.zone_name), list[Start](), after.year
        for date in self.dates.forward(_utc_date(after) - DAY):
            if date.year > newest + HORIZON_YEARS:
                return
            final = bisect_right(held, _midnight(date) - DAY, key=_instant)
            yield from held[:final]
            found = starts_on(date, self.times, zone, real=self.real)
            held = merged(held[final:], found[bisect_right(found, after, key=_instant) :])
            newest = held[-1][0].year if held else newest
        yield from held

    def latest(self, until: dt.datetime) -> Start | None:
        """Return the last start at or before `until`, None when decades hold none."""
        zone, best = load_zone(self.zone_name), None
        for date in self.dates.backward(_utc_date(until) + DAY):
            if best is not None and best[0] > _midnight(date) + 2 * DAY:
                break
            found = starts_on(date, self.times, zone, real=self.real)
            position = bisect_right(found, until, key=_instant)
            if position and (best is None or best < found[position - 1]):
                best = found[position - 1]
        return best


class TimetablePlan:
    """The answers of a plan that is a timetable; a kind adds how it is read, written and told."""

    __slots__ = ()
    zone_name: str

    @property
    def timetable(self) -> Timetable:
        """Return what the kind comes to."""
        raise NotImplementedError

    def starts(self, after: dt.datetime) -> Iterator[Start]:
        """All starts after an instant."""
        return self.timetable.starts(after)

    def occurrence(self, start: Start) -> Occurrence:
        """A start as its zone shows it."""
        return occurrence(start, load_zone(self.zone_name))

    def next_after(self, instant: dt.datetime) -> Occurrence | None:
        """The first of all starts after an instant."""
        start = next(self.starts(instant), None)
        return None if start is None else self.occurrence(start)

    def latest_until(self, instant: dt.datetime) -> Occurrence | None:
        """The last start until an instant."""
        start = self.timetable.latest(instant)
        return None if start is None else self.occurrence(start)

    def pattern(self, midnight: dt.datetime) -> Hashable | None:
        """The offset, and which of the dates round it match; while a clock changes near it, each day is of its own."""
        offset, dates = steady_offset(self.zone_name, midnight), self.timetable.dates
        if offset is None:
            return midnight if self.timetable.real else None
        return offset, tuple(midnight.date() + shift in dates for shift in (-DAY, dt.timedelta(0), DAY))

    def count(self, first: dt.datetime, last: dt.datetime, limit: int) -> tuple[int, bool]:
        """By stepping, no further than the limit."""
        within = takewhile(lambda start: start[0] <= last, self.starts(first - _MOMENT))
        counted = sum(1 for _ in islice(within, limit + 1))
        return min(counted, limit), counted <= limit


def wall_occurrence(wall: dt.datetime, zone_name: str) -> Occurrence:
    """Return when a wall time of a zone comes by today's rules."""
    zone = load_zone(zone_name)
    return occurrence((instant_of(wall, zone), wall), zone)


def since_midnight(time: dt.time) -> dt.timedelta:
    """Return a time of day as what passes until it on an ordinary day."""
    return dt.timedelta(hours=time.hour, minutes=time.minute)


def minutes_of_day(minutes: Iterable[int]) -> tuple[dt.timedelta, ...]:
    """Return minutes since midnight as times."""
    return tuple(dt.timedelta(minutes=minute) for minute in minutes)


def _instant(start: Start) -> dt.datetime:
    return start[0]


def _utc_date(instant: dt.datetime) -> dt.date:
    return max(instant.astimezone(dt.UTC).date(), _EARLIEST)


def _midnight(date: dt.date) -> dt.datetime:
    return dt.datetime.combine(date, dt.time(), dt.UTC)
