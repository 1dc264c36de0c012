"""Flagging of schedules that cannot be planned: a bad zone or rule stops that schedule and no other.

Owns the mark and its event. A flagged schedule is due never, until a change of its job mends it, or newer zone data
that knows its zone (jobs.zone_rules).
"""

import datetime as dt
from typing import Final

from jobs import calendar
from jobs.models import Schedule, ScheduleEvent
from jobs.states import ScheduleState

NO_FREE_INSTANT: Final = "no_free_instant"
UNPLANNABLE: Final = "unplannable"


def flag_schedule(schedule: Schedule, error: Exception, *, now: dt.datetime) -> None:
    """Mark the schedule with why it cannot be planned, and with the zone that newer zone data may know."""
    told = {"error": type(error).__name__, "message": str(error)[:500].replace("\0", "")}
    Schedule.objects.filter(id=schedule.id).update(
        state=ScheduleState.FLAGGED,
        state_code=UNPLANNABLE,
        state_parameters=told,
        zone_rules=calendar.zone_rules_of(schedule.definition),
    )
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="flagged", parameters=told)


def flag_stuck(schedule: Schedule, held: str, *, now: dt.datetime) -> None:
    """Mark a schedule that windows leave no free instant: it is planned again when they change (B8)."""
    told = {"held": held}
    Schedule.objects.filter(id=schedule.id).update(
        state=ScheduleState.FLAGGED, state_code=NO_FREE_INSTANT, state_parameters=told
    )
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="flagged", parameters=told)


def plan_or_flag(schedule: Schedule, *, now: dt.datetime) -> calendar.Plan | None:
    """Return the plan of a schedule, None when it is flagged or has to be: nobody is kept from deleting such a job."""
    if schedule.state != ScheduleState.ACTIVE:
        return None
    try:
        return calendar.parse(schedule.definition, anchor=schedule.anchor)
    except calendar.ScheduleInvalidError as error:
        flag_schedule(schedule, error, now=now)
        return None
