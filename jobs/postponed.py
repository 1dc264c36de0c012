"""What a change of windows means for what waits for them: runs that were postponed, and schedules that were stuck.

Owns `not_before` of postponed runs and the end of the flag `no_free_instant`. Called in the transaction that changes
the windows, with the lock that keeps claims away.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from jobs import calendar, decisions, windows
from jobs.flags import NO_FREE_INSTANT, flag_schedule
from jobs.models import Job, Run, Schedule, ScheduleEvent
from jobs.planning import planned
from jobs.poison import POISON
from jobs.states import DecisionOutcome, HeldCode, RunKind, RunState, ScheduleState
from jobs.window_rows import subject_of


def recompute_waiting(rules: Sequence[windows.Rule], *, now: dt.datetime, job_id: uuid.UUID | None = None) -> int:
    """Let every waiting run that a window holds, or that of one job, wait for what the windows say now.

    Returns how many changed.
    """
    held = Run.objects.filter(state=RunState.QUEUED, admitted_at__isnull=True, held_code=HeldCode.WINDOW)
    held = held.filter(job_id=job_id) if job_id is not None else held
    changed = 0
    for run in held.order_by("id").values("id", "kind", "repository_id", "job_id", "not_before", "held_subject"):
        applicable = windows.applicable(
            rules, RunKind(run["kind"]), repository=str(run["repository_id"]), job=str(run["job_id"] or "")
        )
        answer = windows.next_free(applicable, now)
        told: dict[str, Any] = {"held_code": "", "held_subject": "", "held_since": None}
        if answer.block is not None:
            told = {"held_code": HeldCode.WINDOW, "held_subject": subject_of(answer), "held_since": now}
        # Without a free instant it stays before admission, which says so at each pass until windows change again.
        starts_at = answer.instant or now
        if (run["not_before"], run["held_subject"]) == (starts_at, told["held_subject"]):
            continue
        changed += held.filter(id=run["id"]).update(not_before=Greatest(starts_at, F("scheduled_for")), **told)
    return changed


def revive_stuck(rules: Sequence[windows.Rule], *, now: dt.datetime) -> int:
    """Plan again the schedules that had no free instant and have one now; what passed meanwhile gets its decision."""
    stuck, job_ids = _stuck(), stuck_jobs()
    list(Job.objects.select_for_update(no_key=True).filter(id__in=job_ids).order_by("id"))
    revived = 0
    locked = stuck.select_for_update(no_key=True, of=("self",)).select_related("job")
    for schedule in locked.filter(job_id__in=job_ids).order_by("id"):
        job = schedule.job
        applicable = windows.applicable(rules, RunKind.BACKUP, repository=str(job.repository_id), job=str(job.id))
        if windows.next_free(applicable, now).instant is not None:
            revived += _revive(schedule, now)
    return revived


def stuck_jobs() -> set[uuid.UUID]:
    """Return the jobs that `revive_stuck` locks; who locks others before it locks these with them."""
    return set(_stuck().values_list("job_id", flat=True))


def _stuck() -> QuerySet[Schedule]:
    return Schedule.objects.filter(
        state=ScheduleState.FLAGGED, state_code=NO_FREE_INSTANT, deleted_at__isnull=True, job__deleted_at__isnull=True
    )


def _revive(schedule: Schedule, now: dt.datetime) -> int:
    try:
        plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
        decisions.decide_due(schedule, plan, DecisionOutcome.NO_FREE_INSTANT, NO_FREE_INSTANT, now=now)
        following = plan.next_after(now)
    except POISON as error:
        flag_schedule(schedule, error, now=now)
        return 0
    Schedule.objects.filter(id=schedule.id).update(
        state=ScheduleState.ACTIVE,
        state_code="",
        state_parameters={},
        **planned(plan, following),
    )
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="unflagged", parameters={"after": NO_FREE_INSTANT})
    return 1
