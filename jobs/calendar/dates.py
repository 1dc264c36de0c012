"""Which local dates a calendar kind has: months, days of the month, days of the week (B1, B5).

Owns date arithmetic alone: no time of day, no zone. Walks by month, so that the rarest rule costs no more than others.
"""

import datetime as dt
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jobs.calendar.limits import FIRST_YEAR, HORIZON_YEARS, LAST_YEAR

LAST_DAY: Final = -1
ALL_MONTHS: Final = frozenset(range(1, 13))
ALL_DAYS: Final = frozenset(range(1, 32))
ALL_WEEKDAYS: Final = frozenset(range(7))


@dataclass(frozen=True, slots=True)
class Dates:
    """The dates that match: in `months`, and by day of the month (-1: its last) and day of the week (Monday is 0).

    Both must hold, or with `either` one of them.
    """

    months: frozenset[int] = ALL_MONTHS
    days: frozenset[int] = ALL_DAYS
    weekdays: frozenset[int] = ALL_WEEKDAYS
    either: bool = False

    def __contains__(self, date: dt.date) -> bool:
        """Tell whether a date matches."""
        if date.month not in self.months:
            return False
        return date.day in _matching(self, *monthrange(date.year, date.month))

    def forward(self, start: dt.date) -> Iterator[dt.date]:
        """Yield matching dates from `start` on, in order; the end is where decades hold none."""
        newest = start.year
        for year, month in _months(start, 1):
            if year > newest + HORIZON_YEARS:
                return
            for date in self._of(year, month):
                if date >= start:
                    newest = year
                    yield date

    def backward(self, start: dt.date) -> Iterator[dt.date]:
        """Yield matching dates from `start` back, for some decades."""
        for year, month in _months(start, -1):
            if year < start.year - HORIZON_YEARS:
                return
            for date in reversed(self._of(year, month)):
                if date <= start:
                    yield date

    def _of(self, year: int, month: int) -> list[dt.date]:
        if month not in self.months:
            return []
        return [dt.date(year, month, day) for day in _matching(self, *monthrange(year, month))]


@lru_cache(maxsize=4096)
def _matching(dates: Dates, first_weekday: int, length: int) -> tuple[int, ...]:
    """Return the days of a month that begins on `first_weekday`; there are only 28 forms of a month."""
    return tuple(day for day in range(1, length + 1) if _matches(dates, day, (first_weekday + day - 1) % 7, length))


def _matches(dates: Dates, day: int, weekday: int, length: int) -> bool:
    by_day = day in dates.days or (day == length and LAST_DAY in dates.days)
    by_weekday = weekday in dates.weekdays
    return by_day or by_weekday if dates.either else by_day and by_weekday


def _months(start: dt.date, step: int) -> Iterator[tuple[int, int]]:
    number = start.year * 12 + start.month - 1
    while FIRST_YEAR <= number // 12 <= LAST_YEAR:
        yield number // 12, number % 12 + 1
        number += step
