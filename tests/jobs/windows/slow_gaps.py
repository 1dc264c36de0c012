"""The widest gap found start by start: slow, and simple enough to be believed."""

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise

from jobs import calendar, windows
from jobs.calendar.zones import load_zone

# An instant, the wall time it stands for if any, and whose.
_Start = tuple[dt.datetime, dt.datetime | None, str]


def slow_widest(
    plans: Sequence[calendar.Plan], stretches: Sequence[windows.Stretch], start: dt.datetime, end: dt.datetime
) -> dt.timedelta | None:
    """Return the widest gap between starts in (start, end], NEVER where a start finds no free instant."""
    starts: list[_Start] = []
    for plan in plans:
        for instant, nominal in plan.starts(start):
            if instant > end:
                break
            starts.append((instant, nominal, plan.zone_name))
    moved = [_moved(one, stretches) for one in sorted(starts, key=lambda one: one[0])]
    if None in moved:
        return calendar.NEVER
    placed = [one for one in moved if one is not None]
    return max((_distance(one, other) for one, other in pairwise(placed)), default=None)


def _moved(start: _Start, stretches: Sequence[windows.Stretch]) -> _Start | None:
    instant, nominal, zone_name = start
    for one in stretches:
        if one.start <= instant and (one.end is None or instant < one.end):
            if one.end is None:
                return None
            wall = one.end.astimezone(load_zone(zone_name)).replace(tzinfo=None)
            return one.end, None if nominal is None else wall, zone_name
    return start


def _distance(before: _Start, after: _Start) -> dt.timedelta:
    elapsed = after[0] - before[0]
    if before[1] is None or after[1] is None or before[2] != after[2]:
        return elapsed
    return min(after[1] - before[1], elapsed)
