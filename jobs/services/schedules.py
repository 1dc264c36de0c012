"""The schedules of one job: made, planned anew, changed and ended, so that each instant keeps its account (H7, 5.9).

Owns these writes. What was due before a change is claimed under the old plan first, in the same transaction; what may
not be claimed gets a decision. The caller holds the windows' lock where it changes schedules, and always the job's.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from jobs import calendar, claims, decisions
from jobs.flags import NO_FREE_INSTANT, UNPLANNABLE, plan_or_flag
from jobs.models import Job, Schedule, ScheduleEvent
from jobs.planning import AHEAD, planned
from jobs.poison import POISON
from jobs.services.new_job import NewSchedule
from jobs.services.schedule_pairs import Pairs
from jobs.states import DecisionOutcome, ScheduleState
from repositories.identifiers import new_id


def lock_schedules(job: Job) -> list[Schedule]:
    """Lock the job's schedules that are not deleted, in the order of their making."""
    kept = Schedule.objects.select_for_update(no_key=True).filter(job=job, deleted_at__isnull=True)
    return list(kept.order_by("id"))


def insert_schedules(
    job: Job, schedules: Sequence[NewSchedule], actor: str, *, now: dt.datetime, after: dt.datetime | None = None
) -> None:
    """Make schedules whose first instants are later than `after`, or than now."""
    for one in schedules:
        schedule = Schedule.objects.create(
            id=new_id(now), job=job, created_at=now, **_planned(one, after=after or now, now=now)
        )
        ScheduleEvent.objects.create(schedule=schedule, at=now, code="created", actor=actor)


def change_schedules(job: Job, pairs: Pairs, actor: str, *, now: dt.datetime) -> None:
    """Let the job have the schedules of `pairs`: what is due of those that change or end is claimed first."""
    touched = [schedule.id for schedule, _ in pairs.changed] + [schedule.id for schedule in pairs.ended]
    claims.claim_of_job(job.id, touched, now=now)
    rows = {schedule.id: schedule for schedule in lock_schedules(job)}
    after = max([now, *(last for one in rows.values() if now < (last := _planned_last(one)) <= now + AHEAD)])
    for schedule, one in pairs.changed:
        row = rows[schedule.id]
        write_off(row, "schedule_changed", now=now)
        told = {"before": row.definition, "after": dict(one.plan.definition())}
        unflagged: dict[str, Any] = {"state": ScheduleState.ACTIVE, "state_code": "", "state_parameters": {}}
        Schedule.objects.filter(id=row.id).update(**_planned(one, after=after, now=now), **unflagged)
        ScheduleEvent.objects.create(schedule=row, at=now, code="changed", actor=actor, parameters=told)
    for schedule in pairs.ended:
        write_off(rows[schedule.id], "schedule_changed", now=now)
        ScheduleEvent.objects.create(schedule=schedule, at=now, code="deleted", actor=actor)
    end_schedules([schedule.id for schedule in pairs.ended], now=now)
    for schedule, one in pairs.kept:
        _change_policy(schedule, one, actor, now)
    insert_schedules(job, pairs.added, actor, now=now, after=after)


def plan_anew(schedule: Schedule, now: dt.datetime) -> None:
    """Write what the pause swallowed and plan from now; an interval's grid begins anew."""
    plan = plan_or_flag(schedule, now=now)
    if plan is None:
        return
    decisions.decide_due(schedule, plan, DecisionOutcome.PAUSED, "job_paused", now=now)
    renewed = calendar.parse(schedule.definition, anchor=now)
    Schedule.objects.filter(id=schedule.id).update(
        anchor=now,
        fingerprint=calendar.fingerprint(renewed, anchor=now),
        **planned(renewed, renewed.next_after(now)),
    )


def end_schedules(schedule_ids: Sequence[Any], *, now: dt.datetime) -> None:
    """Delete schedules softly: runs and decisions name them."""
    Schedule.objects.filter(id__in=schedule_ids).update(deleted_at=now, next_at=None)


def write_off(schedule: Schedule, otherwise: str, *, now: dt.datetime) -> None:
    """Say of what is due and unclaimed why it never became a run, before the schedule ends or is planned anew.

    `otherwise` is the reason where neither a flag nor a pause of the job has kept it from running.
    """
    if schedule.next_at is None or schedule.next_at > now:
        return
    outcome, reason = DecisionOutcome.SKIPPED, otherwise
    if schedule.state == ScheduleState.FLAGGED:
        stuck = schedule.state_code == NO_FREE_INSTANT
        outcome = DecisionOutcome.NO_FREE_INSTANT if stuck else DecisionOutcome.SKIPPED
        reason = NO_FREE_INSTANT if stuck else UNPLANNABLE
    elif schedule.job.paused_at is not None:
        outcome, reason = DecisionOutcome.PAUSED, "job_paused"
    decisions.decide_range(schedule, _due_span(schedule, schedule.next_at, now), outcome, reason, now=now)


def _change_policy(schedule: Schedule, one: NewSchedule, actor: str, now: dt.datetime) -> None:
    policy = {"missed": one.missed, "missed_within_seconds": one.missed_within_seconds}
    if (schedule.missed, schedule.missed_within_seconds) == tuple(policy.values()):
        return
    Schedule.objects.filter(id=schedule.id).update(**policy)
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="changed", actor=actor, parameters=policy)


def _due_span(schedule: Schedule, first: dt.datetime, now: dt.datetime) -> calendar.Span:
    """Return what was due; of a plan that nobody can read any more, its stored instant and perhaps others until now."""
    try:
        return calendar.span(calendar.parse(schedule.definition, anchor=schedule.anchor), first, now)
    except POISON:
        return calendar.Span(first, max(first, now), 1, count_is_minimum=True)


def tell_schedules(job: Job, code: str, actor: str, now: dt.datetime) -> None:
    """Write an event of each of the job's schedules."""
    kept = Schedule.objects.filter(job=job, deleted_at__isnull=True)
    ScheduleEvent.objects.bulk_create(ScheduleEvent(schedule=one, at=now, code=code, actor=actor) for one in kept)


def _planned(one: NewSchedule, *, after: dt.datetime, now: dt.datetime) -> dict[str, Any]:
    plan = one.plan
    return {
        "kind": plan.kind,
        "definition": dict(plan.definition()),
        "anchor": now,
        "fingerprint": calendar.fingerprint(plan, anchor=now),
        "missed": one.missed,
        "missed_within_seconds": one.missed_within_seconds,
        **planned(plan, plan.next_after(after)),
    }


def _planned_last(schedule: Schedule) -> dt.datetime:
    return schedule.last_planned_at or schedule.created_at
