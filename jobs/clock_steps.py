"""A clock that stood far ahead and was set right again: what it planned for then is planned from now (5.9).

Owns that correction. Up to a day nothing is done: the next instant stays later than the last planned one, so that a
clock which jumps to and fro plans nothing twice (A14). Further ahead that rule would mean no backup for years.
"""

import datetime as dt
from typing import Any, Final

from django.db import transaction

from jobs.calendar import fingerprint, parse
from jobs.flags import flag_schedule, plan_or_flag
from jobs.models import Job, Run, Schedule, ScheduleEvent, UpkeepPlan
from jobs.planning import AHEAD, planned
from jobs.poison import POISON
from jobs.states import RunState
from jobs.upkeep import flag_plan
from syncova_project.instants import instant

BATCH: Final = 500


def correct_far_plans(*, now: dt.datetime) -> int:
    """Plan from `now` (database time) what was planned from more than a day later; return how many schedules and plans.

    Asked only after a gap or a step between passes, since it looks at all schedules.
    """
    corrected, last = _correct_upkeep(now), BATCH
    while last == BATCH:
        last = _correct_batch(now)
        corrected += last
    return corrected


def _correct_batch(now: dt.datetime) -> int:
    far = Schedule.objects.filter(deleted_at__isnull=True, last_planned_at__gt=now + AHEAD)
    with transaction.atomic():
        found = dict(far.order_by("id").values_list("id", "job_id")[:BATCH])
        list(Job.objects.select_for_update(no_key=True).filter(id__in=set(found.values())).order_by("id"))
        rows = far.filter(id__in=list(found)).select_for_update(no_key=True, of=("self",)).order_by("id")
        for schedule in rows:
            try:
                with transaction.atomic():
                    _correct(schedule, now)
            except POISON as error:
                flag_schedule(schedule, error, now=now)
                Schedule.objects.filter(id=schedule.id).update(last_planned_at=now)
    return len(found)


def _correct(schedule: Schedule, now: dt.datetime) -> None:
    columns: dict[str, Any] = {"last_planned_at": now}
    plan = plan_or_flag(schedule, now=now)
    if plan is not None:
        columns |= planned(plan, plan.next_after(now))
        columns["fingerprint"] = fingerprint(plan, anchor=schedule.anchor)
    Schedule.objects.filter(id=schedule.id).update(**columns)
    told = {"before": instant(schedule.next_at), "after": instant(columns.get("next_at"))}
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="clock_set_back", parameters=told)
    # A run of an instant that has not come would wait for it, and hold its job meanwhile: it stands for now.
    waiting = Run.objects.filter(schedule=schedule, state=RunState.QUEUED, admitted_at__isnull=True)
    waiting.filter(scheduled_for__gt=now + AHEAD).update(scheduled_for=now, not_before=now)


def _correct_upkeep(now: dt.datetime) -> int:
    """The same for the upkeep of repositories, which has few plans."""
    far = UpkeepPlan.objects.filter(deleted_at__isnull=True, last_planned_at__gt=now + AHEAD)
    with transaction.atomic():
        rows = list(far.select_for_update(no_key=True).order_by("id"))
        for plan in rows:
            columns: dict[str, Any] = {"last_planned_at": now}
            try:
                schedule = parse(plan.definition, anchor=plan.anchor)
                columns |= planned(schedule, schedule.next_after(now))
            except POISON as error:
                flag_plan(plan, error)
            UpkeepPlan.objects.filter(id=plan.id).update(**columns)
            waiting = Run.objects.filter(upkeep=plan, state=RunState.QUEUED, admitted_at__isnull=True)
            waiting.filter(scheduled_for__gt=now + AHEAD).update(scheduled_for=now, not_before=now)
    return len(rows)
