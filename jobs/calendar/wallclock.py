"""Wall times of one local date turned into instants (B2-B5).

Owns the rules of gap and fold, for kinds that mean wall times and for kinds that follow real time.
"""

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from jobs.calendar.plans import Note, Occurrence, Start
from jobs.calendar.zones import load_zone

DAY: Final = dt.timedelta(days=1)


def starts_on(date: dt.date, times: Sequence[dt.timedelta], zone: ZoneInfo, *, real: bool) -> list[Start]:
    """Return the starts of a local date at `times` (ascending) since its midnight, strictly increasing.

    Wall times: each runs once, in a fold at the first, in a gap later by the gap's length, maybe on the next date.
    Real time: each instant that shows the time; two in a fold, none in a gap.
    """
    midnight = dt.datetime.combine(date, dt.time())
    begin, end = _offset(midnight, zone, 0), _offset(midnight + DAY, zone, 1)
    # No zone changes twice within a week, so a date that begins and ends with one offset has only that.
    if begin == end:
        base = _instant(midnight, begin)
        return [(base + time, None if real else midnight + time) for time in times]
    walls = [midnight + time for time in times]
    if real:
        return [(instant, None) for instant in sorted(one for wall in walls for one in _passes(wall, zone))]
    return _ordered([(instant_of(wall, zone), wall) for wall in walls])


def merged(earlier: list[Start], later: list[Start]) -> list[Start]:
    """Return the starts of a date and of a later one together, strictly increasing."""
    if not earlier or not later or earlier[-1][0] < later[0][0]:
        return earlier + later
    return _ordered(earlier + later)


def instant_of(wall: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """Return when a wall time comes: in a gap later by the gap's length, in a fold at the first of the two.

    Both follow from `fold=0`, which takes the offset from before the change of the clocks.
    """
    return _instant(wall, _offset(wall, zone, 0))


def occurrence(start: Start, zone: ZoneInfo) -> Occurrence:
    """Return a start as people see it, with what is special about it."""
    instant, nominal = start
    local = instant.astimezone(zone)
    wall = local.replace(tzinfo=None, fold=0)
    if nominal is not None and nominal != wall:
        return Occurrence(instant, local, nominal, (Note.GAP,))
    if _offset(wall, zone, 0) == _offset(wall, zone, 1):
        return Occurrence(instant, local, nominal)
    return Occurrence(instant, local, nominal, (Note.SECOND_OF_TWO if local.fold else Note.FIRST_OF_TWO,))


@lru_cache(maxsize=16_384)
def steady_offset(zone_name: str, midnight: dt.datetime) -> dt.timedelta | None:
    """Return the one offset of a zone from a day before `midnight` (UTC) until two days after it, None: it changes.

    No zone changes twice within a week, so equal ends leave no room for a change. All local dates that share an
    instant with the day are ordinary then, but for hours that no start of the day comes from.
    """
    zone = load_zone(zone_name)
    begin, end = ((midnight + days * DAY).astimezone(zone).utcoffset() for days in (-1, 2))
    return begin if begin == end else None


def _ordered(starts: list[Start]) -> list[Start]:
    """Where two wall times meet in one instant, the later one, which the clock shows, stands for both."""
    return list({start[0]: start for start in sorted(starts)}.values())


def _passes(wall: dt.datetime, zone: ZoneInfo) -> list[dt.datetime]:
    before, after = _offset(wall, zone, 0), _offset(wall, zone, 1)
    if before < after:
        return []
    first, second = _instant(wall, before), _instant(wall, after)
    return [first] if first == second else [first, second]


def _offset(wall: dt.datetime, zone: ZoneInfo, fold: int) -> dt.timedelta:
    return wall.replace(tzinfo=zone, fold=fold).utcoffset() or dt.timedelta()


def _instant(wall: dt.datetime, offset: dt.timedelta) -> dt.datetime:
    return (wall - offset).replace(tzinfo=dt.UTC)
