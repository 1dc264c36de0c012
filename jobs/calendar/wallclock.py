"""Wall times turned into instants, and the walk over local days that all calendar kinds share (B2-B4).

Owns the rules of gap and fold. A kind says which wall times a local date has; it never steps by 24 hours itself.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from jobs.calendar.plans import Note, Occurrence

Times = Callable[[dt.date], Sequence[dt.time]]

# A gap may be a whole day long (Samoa skipped 30 December 2011), so a nominal day may run on the next one.
_REACH: Final = 2
_FIRST_YEAR: Final = 2
_LAST_YEAR: Final = 9990
_DAY: Final = dt.timedelta(days=1)


def resolve(nominal: dt.datetime, zone: ZoneInfo) -> Occurrence:
    """Return when a wall time comes: in a gap later by the gap's length, in a fold at the first of the two.

    Both follow from `fold=0`, which takes the offset from before the change of the clocks.
    """
    first = nominal.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(dt.UTC)
    local = instant.astimezone(zone)
    if local.replace(tzinfo=None) != nominal:
        return Occurrence(instant, local, nominal, (Note.GAP,))
    twice = first.utcoffset() != first.replace(fold=1).utcoffset()
    return Occurrence(instant, local, nominal, (Note.FIRST_OF_TWO,) if twice else ())


def next_after(instant: dt.datetime, zone: ZoneInfo, times: Times, *, horizon_days: int) -> Occurrence | None:
    """Return the first occurrence strictly later than `instant`, looking at most `horizon_days` ahead."""
    best: Occurrence | None = None
    for date in _dates(instant, zone, -_REACH, horizon_days):
        # A shifted time may be later than one of the next day, never than one of the day after its reach.
        if best is not None and date > best.local.date() + _REACH * _DAY:
            break
        for one in _on(date, zone, times):
            if one.instant > instant and (best is None or one.instant < best.instant):
                best = one
    return best


def latest_until(instant: dt.datetime, zone: ZoneInfo, times: Times, *, horizon_days: int) -> Occurrence | None:
    """Return the last occurrence at or before `instant`, looking at most `horizon_days` back."""
    best: Occurrence | None = None
    for date in _dates(instant, zone, _REACH, -horizon_days):
        if best is not None and date < best.local.date() - _REACH * _DAY:
            break
        for one in _on(date, zone, times):
            if one.instant <= instant and (best is None or one.instant > best.instant):
                best = one
    return best


def _dates(instant: dt.datetime, zone: ZoneInfo, start: int, end: int) -> Iterator[dt.date]:
    step = 1 if end > start else -1
    middle = instant.astimezone(zone).date()
    for offset in range(start, end + step, step):
        date = middle + offset * _DAY
        if not _FIRST_YEAR <= date.year <= _LAST_YEAR:
            return
        yield date


def _on(date: dt.date, zone: ZoneInfo, times: Times) -> Iterator[Occurrence]:
    for time in times(date):
        yield resolve(dt.datetime.combine(date, time), zone)
