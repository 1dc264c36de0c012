"""From a plan to a row's columns: the next instant, the wall time that it is for, and the zone rules that it follows.

Owns these three. The wall time outlives the zone rules that made an instant of it: when they change, the promise is the
wall time's, so that none is lost and none comes twice (5.5).
"""

import datetime as dt
from typing import Any, Final, Protocol

from jobs import calendar

# Up to so much later than now a last planned instant is believed; further on it was a wrong clock's (jobs.clock_steps).
AHEAD: Final = dt.timedelta(days=1)


class Planned(Protocol):
    """A row that is due by a plan: a schedule of a job, or a plan of upkeep."""

    next_wall: str
    zone_rules: str
    last_planned_at: dt.datetime | None
    created_at: dt.datetime


def planned(plan: calendar.Plan, following: calendar.Occurrence | None) -> dict[str, Any]:
    """Return `next_at`, `next_wall` and `zone_rules` for an occurrence of a plan; None is due never."""
    next_at = following.instant if following else None
    return {"next_at": next_at, "next_wall": wall_of(following), "zone_rules": calendar.zone_rules(plan)}


def wall_of(following: calendar.Occurrence | None) -> str:
    """Return the wall time as it is kept, "" for kinds that follow none."""
    nominal = following.nominal if following else None
    return nominal.isoformat(timespec="minutes") if nominal else ""


def following_of(row: Planned, plan: calendar.Plan, instant: dt.datetime) -> calendar.Occurrence | None:
    """Return the occurrence after `instant` that a due row goes on with.

    Its instant may have been stored under older zone rules; under newer ones the same wall time may be still to come.
    """
    following = plan.next_after(instant)
    if not row.next_wall or calendar.zone_rules(plan) == row.zone_rules:
        return following
    while following is not None and "" < wall_of(following) <= row.next_wall:
        following = plan.next_after(following.instant)
    return following


def promised_of(row: Planned, plan: calendar.Plan, now: dt.datetime) -> calendar.Occurrence | None:
    """Return when the promised wall time comes by today's rules, be it in the past: then it is due at once."""
    floor = row.last_planned_at or row.created_at
    if row.next_wall:
        promised = calendar.wall_occurrence(dt.datetime.fromisoformat(row.next_wall), plan.zone_name)
        if promised.instant > floor:
            return promised
    return plan.next_after(max(now, floor))
