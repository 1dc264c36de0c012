"""An independent and slow account of windows: every minute of a stretch of time, painted free or shut.

Owns no rule of the product: a window's days are looked up in what a minute's local clock shows, and free is counted
minute by minute. Edges of windows lie on whole minutes, so nothing is lost.
"""

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = dt.timedelta(minutes=1)
# Long enough for a look-back of eight days before, and 31 days of search after, the instants asked for.
MARGIN_DAYS = 10
STRETCH_DAYS = 55


@dataclass(frozen=True)
class Painted:
    """One window: a blackout or an allowed one of a level, and the [start, end) minutes that it covers."""

    blackout: bool
    level: int
    minutes: tuple[tuple[int, int], ...]


@lru_cache(maxsize=32)
def walls(
    zone: ZoneInfo, first: dt.datetime
) -> tuple[dict[dt.datetime, int], tuple[tuple[dt.datetime, int, int], ...]]:
    """Return which minute shows a wall time first, and the gaps: first wall time left out, length, minute after it."""
    shown: dict[dt.datetime, int] = {}
    gaps = []
    before = None
    for number in range(STRETCH_DAYS * 1440):
        wall = (first + number * MINUTE).astimezone(zone).replace(tzinfo=None, fold=0)
        shown.setdefault(wall, number)
        if before is not None and wall - before > MINUTE:
            gaps.append((before + MINUTE, (wall - before) // MINUTE - 1, number))
        before = wall
    return shown, tuple(gaps)


def openings(
    zone: ZoneInfo, first: dt.datetime, days: frozenset[int], start: dt.time, length: int
) -> tuple[tuple[int, int], ...]:
    """Return the minutes that a recurring window covers within the stretch."""
    shown, gaps = walls(zone, first)
    found = []
    date = first.date() - dt.timedelta(days=1)
    while date <= first.date() + dt.timedelta(days=STRETCH_DAYS):
        nominal = dt.datetime.combine(date, start)
        number = shown.get(nominal)
        for left_out, minutes, after in gaps:
            if left_out <= nominal < left_out + minutes * MINUTE:
                # Later by the length of the gap: as far after it as the wall time lies within it.
                number = after + (nominal - left_out) // MINUTE
        if number is not None and date.isoweekday() in days:
            found.append((number, number + length))
        date += dt.timedelta(days=1)
    return tuple(found)


def first_free(painted: list[Painted], asked: int, reach: int) -> int | None:
    """Return the first free minute in [asked, asked + reach]: each is painted by every window, none is skipped."""
    shut = _paint([each for each in painted if each.blackout])
    for level in {each.level for each in painted if not each.blackout}:
        opened = _paint([each for each in painted if not each.blackout and each.level == level])
        shut = bytearray(held or not is_open for held, is_open in zip(shut, opened, strict=True))
    found = shut.find(0, asked, asked + reach + 1)
    return None if found < 0 else found


def _paint(painted: list[Painted]) -> bytearray:
    minutes = bytearray(STRETCH_DAYS * 1440)
    for each in painted:
        for start, end in each.minutes:
            stop = min(end, len(minutes))
            minutes[start:stop] = b"\1" * max(0, stop - start)
    return minutes
