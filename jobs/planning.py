"""From a schedule's plan to its columns: the next instant with the wall time that it is for.

Owns the pair. The wall time outlives the zone rules that made an instant of it: when they change, the promise is the
wall time's, so that none is lost and none comes twice (5.5).
"""

import datetime as dt
from typing import Any

from jobs import calendar
from jobs.models import Schedule


def columns_of(following: calendar.Occurrence | None) -> dict[str, Any]:
    """Return `next_at` and `next_wall` for an occurrence; None is due never."""
    return {"next_at": following.instant if following else None, "next_wall": wall_of(following)}


def wall_of(following: calendar.Occurrence | None) -> str:
    """Return the wall time as it is kept, "" for kinds that follow none."""
    nominal = following.nominal if following else None
    return nominal.isoformat(timespec="minutes") if nominal else ""


def following_of(schedule: Schedule, plan: calendar.Plan, instant: dt.datetime) -> calendar.Occurrence | None:
    """Return the occurrence after `instant` that a due schedule goes on with.

    Its instant may have been stored under older zone rules; under newer ones the same wall time may be still to come.
    """
    following = plan.next_after(instant)
    if not schedule.next_wall or calendar.fingerprint(plan, anchor=schedule.anchor) == schedule.fingerprint:
        return following
    while following is not None and "" < wall_of(following) <= schedule.next_wall:
        following = plan.next_after(following.instant)
    return following
