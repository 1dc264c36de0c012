"""How many instants a span of time held: what a decision over missed runs tells (A13, H7).

Owns the counting and its bound: three years down must not be counted through one by one.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from jobs.calendar.plans import Plan

COUNT_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Span:
    """The instants of a plan from `first` to `newest`; `count` may be only a lower bound."""

    first: dt.datetime
    newest: dt.datetime
    count: int
    count_is_minimum: bool


def span(plan: Plan, first: dt.datetime, until: dt.datetime) -> Span:
    """Return what the plan held from its planned instant `first` to `until`; `first` itself always counts.

    A stored instant may lie off the plan (the zone's rules changed since): it was promised all the same.
    """
    latest = plan.latest_until(until)
    newest = latest.instant if latest is not None and latest.instant > first else first
    later, is_all = plan.count(first + dt.timedelta(microseconds=1), newest, COUNT_LIMIT)
    return Span(first, newest, 1 + later, count_is_minimum=not is_all)
