"""An independent and slow account of schedules: every minute of real time, asked what its local clock shows."""

import datetime as dt
from collections.abc import Callable, Iterator
from zoneinfo import ZoneInfo

MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)

Shows = Callable[[dt.datetime], bool]


def wall_instants(wanted: Shows, zone: ZoneInfo, first: dt.date, days: int) -> list[dt.datetime]:
    """Return when the wall times of `days` local dates come that `wanted` says yes to, each once.

    The first minute that shows one is its run. One that no clock shows runs later by the length of the gap that
    swallowed it: that is the jump between two minutes that enclose it.
    """
    open_walls = {wall for wall in _walls(first, days) if wanted(wall)}
    found: set[dt.datetime] = set()
    late: dict[dt.datetime, dt.datetime] = {}
    for before, minute, wall in _minutes(zone, first, days):
        gap = wall - before - MINUTE
        if gap > dt.timedelta():
            missing = [before + MINUTE * n for n in range(1, gap // MINUTE + 1)]
            late |= {one + gap: one for one in missing if one in open_walls}
        if wall in open_walls or wall in late:
            found.add(minute)
            open_walls -= {wall, late.pop(wall, wall)}
    return sorted(found)


def real_instants(shown: Shows, zone: ZoneInfo, first: dt.date, days: int) -> list[dt.datetime]:
    """Return every minute whose local time `shown` says yes to, as often as the clock shows it."""
    last = first + DAY * days
    within = ((minute, wall) for _, minute, wall in _minutes(zone, first, days) if first <= wall.date() < last)
    return [minute for minute, wall in within if shown(wall)]


def _walls(first: dt.date, days: int) -> Iterator[dt.datetime]:
    midnight = dt.datetime.combine(first, dt.time())
    return (midnight + MINUTE * n for n in range(days * 1440))


def _minutes(zone: ZoneInfo, first: dt.date, days: int) -> Iterator[tuple[dt.datetime, dt.datetime, dt.datetime]]:
    """Yield what the minute before showed, each minute, and what it shows, well around the dates."""
    start = dt.datetime.combine(first, dt.time(), dt.UTC) - 3 * DAY
    before = _wall(start - MINUTE, zone)
    for n in range((days + 6) * 1440):
        minute = start + MINUTE * n
        wall = _wall(minute, zone)
        yield before, minute, wall
        before = wall


def _wall(instant: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)
