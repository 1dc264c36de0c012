"""The widest gap between two starts of schedules after their windows (B10).

Owns the walk of planned instants along shut stretches. By wall clock between two starts of one zone, as for schedules
without windows, so that what is postponed to six every morning keeps its 24 hours in autumn too.
"""

import datetime as dt
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jobs import calendar
from jobs.calendar.zones import load_zone
from jobs.windows.rules import Rule
from jobs.windows.stretches import Stretch, shut_stretches

# What a gap is when windows leave nothing free within their reach.
NEVER: Final = dt.timedelta.max


@dataclass(frozen=True, slots=True)
class _Start:
    instant: dt.datetime
    zone_name: str
    nominal: dt.datetime | None
    is_postponed: bool = False


def widest_gap(plans: Sequence[calendar.Plan], rules: Sequence[Rule], start: dt.datetime) -> dt.timedelta | None:
    """Return the widest gap between starts over the next 400 days, None when nothing is planned.

    `rules` are those that apply to the job's backups. NEVER: they leave no free instant somewhere.
    """
    if not rules:
        return calendar.widest_gap(plans, start)
    end = start + dt.timedelta(days=calendar.RPO_DAYS)
    stretches = list(shut_stretches(rules, start, end))
    widest: dt.timedelta | None = None
    before: _Start | None = None
    for planned in _merged(plans, start, end):
        after = _postponed(planned, stretches)
        if after is None:
            return NEVER
        if before is not None:
            gap = _distance(before, after)
            widest = gap if widest is None else max(widest, gap)
        before = after
    return widest


def _merged(plans: Sequence[calendar.Plan], start: dt.datetime, end: dt.datetime) -> Iterator[_Start]:
    streams = [_stream(plan, start, end) for plan in plans]
    return heapq.merge(*streams, key=lambda one: one.instant)


def _stream(plan: calendar.Plan, start: dt.datetime, end: dt.datetime) -> Iterator[_Start]:
    for instant, nominal in plan.starts(start):
        if instant > end:
            return
        yield _Start(instant, plan.zone_name, nominal)


def _postponed(planned: _Start, stretches: list[Stretch]) -> _Start | None:
    """Return when a planned instant starts, None for never; stretches that are over are dropped from the list."""
    while stretches and (ends := stretches[0].end) is not None and ends <= planned.instant:
        stretches.pop(0)
    if not stretches or planned.instant < stretches[0].start:
        return planned
    end = stretches[0].end
    return None if end is None else _Start(end, planned.zone_name, planned.nominal, is_postponed=True)


def _distance(before: _Start, after: _Start) -> dt.timedelta:
    elapsed = after.instant - before.instant
    if before.zone_name != after.zone_name or before.nominal is None or after.nominal is None:
        return elapsed
    by_wall = _wall(after) - _wall(before)
    # The edge of a window may follow another clock: an hour that only the wall clock shows is no gap then.
    return min(by_wall, elapsed) if before.is_postponed or after.is_postponed else by_wall


def _wall(start: _Start) -> dt.datetime:
    if start.nominal is not None and not start.is_postponed:
        return start.nominal
    return start.instant.astimezone(load_zone(start.zone_name)).replace(tzinfo=None)
