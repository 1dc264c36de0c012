"""Claiming: due schedules become waiting runs, each instant once, whoever else is claiming (A1, A13, A14, D1).

Owns the move of `schedules.next_at`, in the transaction that queues the run. `FOR UPDATE SKIP LOCKED` keeps claimers
apart; the unique instant holds even if that failed. A row that cannot be planned is flagged and stops no other.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from jobs import calendar, decisions, transitions
from jobs.flags import flag_schedule
from jobs.models import Run, Schedule, ScheduleDecision
from jobs.poison import POISON
from jobs.states import ACTIVE_STATES, DecisionOutcome, RunKind, ScheduleState, Trigger
from jobs.successors import NewRun

BATCH: Final = 500

_MOVE: Final = """
UPDATE schedules SET next_at = moved.next_at, last_planned_at = moved.claimed
FROM unnest(%s::uuid[], %s::timestamptz[], %s::timestamptz[]) AS moved (id, next_at, claimed)
WHERE schedules.id = moved.id
"""


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim did: runs queued, instants that another run already stands for, rows flagged."""

    queued: int = 0
    coalesced: int = 0
    flagged: int = 0

    def __add__(self, other: "Claimed") -> "Claimed":
        return Claimed(self.queued + other.queued, self.coalesced + other.coalesced, self.flagged + other.flagged)


@dataclass(frozen=True, slots=True)
class Step:
    """What a due schedule comes to: the instants that are claimed, and where it stands after that."""

    schedule: Schedule
    plan: calendar.Plan
    span: calendar.Span
    next_at: dt.datetime | None


def claim_due(*, now: dt.datetime, most_batches: int = 200) -> Claimed:
    """Claim what is due at `now` (database time), a batch a transaction, until nothing is left for this claimer."""
    total = Claimed()
    for _ in range(most_batches):
        seen, claimed = _claim_batch(now)
        total += claimed
        if seen < BATCH:
            break
    return total


def _claim_batch(now: dt.datetime) -> tuple[int, Claimed]:
    with transaction.atomic():
        due = _lock_due(now)
        steps, total = _plan_all(due, now)
        try:
            with transaction.atomic():
                return len(due), total + _write(steps, now)
        except POISON:
            # One row spoils the statement for all: each gets a savepoint of its own, and only that one is flagged.
            for step in steps:
                total += _write_alone(step, now)
    return len(due), total


def _lock_due(now: dt.datetime) -> Sequence[Schedule]:
    """Lock due schedules with their jobs: a job that is being paused or changed right now is left to the next pass."""
    due = Schedule.objects.filter(
        next_at__lte=now,
        state=ScheduleState.ACTIVE,
        deleted_at__isnull=True,
        job__deleted_at__isnull=True,
        job__paused_at__isnull=True,
    )
    locked = due.select_for_update(skip_locked=True, of=("self", "job"), no_key=True)
    return list(locked.select_related("job").order_by("next_at", "id")[:BATCH])


def _plan_all(due: Sequence[Schedule], now: dt.datetime) -> tuple[list[Step], Claimed]:
    steps, flagged = [], 0
    for schedule in due:
        try:
            steps.append(_step(schedule, now))
        except POISON as error:
            flag_schedule(schedule, error, now=now)
            flagged += 1
    return steps, Claimed(flagged=flagged)


def _step(schedule: Schedule, now: dt.datetime) -> Step:
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    planned = schedule.next_at or now
    # Later than what was planned and than now: no instant twice, no drift, whatever clock or calendar did.
    following = plan.next_after(max(planned, now))
    return Step(schedule, plan, calendar.span(plan, planned, now), following.instant if following else None)


def _write(steps: Sequence[Step], now: dt.datetime) -> Claimed:
    """Write the runs, the new instants and the decisions of all steps in a handful of statements."""
    if not steps:
        return Claimed()
    runs = transitions.enqueue_all([_planned_run(step.schedule, step.span.newest) for step in steps], now=now)
    _move_schedules(steps)
    decided, total = [], Claimed()
    for step, run in zip(steps, runs, strict=True):
        decision = _missed(step, run, now) if run else _coalesced(step, now)
        decided += [decision] if decision else []
        total += Claimed(queued=1) if run else Claimed(coalesced=1 if decision else 0)
    ScheduleDecision.objects.bulk_create(decided)
    return total


def _move_schedules(steps: Sequence[Step]) -> None:
    with connection.cursor() as cursor:
        ids, following, claimed = zip(*((s.schedule.id, s.next_at, s.span.newest) for s in steps), strict=True)
        cursor.execute(_MOVE, [list(ids), list(following), list(claimed)])


def _write_alone(step: Step, now: dt.datetime) -> Claimed:
    try:
        with transaction.atomic():
            return _write([step], now)
    except POISON as error:
        flag_schedule(step.schedule, error, now=now)
        return Claimed(flagged=1)


def _planned_run(schedule: Schedule, instant: dt.datetime) -> NewRun:
    job = schedule.job
    return NewRun(
        kind=RunKind.BACKUP,
        repository_id=job.repository_id,
        runner_id=job.runner_id,
        trigger=Trigger.SCHEDULE,
        requested_by="schedule",
        scheduled_for=instant,
        not_before=instant,
        priority=job.priority,
        job_id=job.id,
        schedule_id=schedule.id,
    )


def _missed(step: Step, run: Run, now: dt.datetime) -> ScheduleDecision | None:
    """Say which instants before the newest were skipped in its favour (A13)."""
    earlier = decisions.without_newest(step.span, step.plan)
    if earlier is None:
        return None
    return decisions.range_row(step.schedule, earlier, DecisionOutcome.SKIPPED, "missed", now=now, run_id=run.id)


def _coalesced(step: Step, now: dt.datetime) -> ScheduleDecision | None:
    """Say which active run stands for the instants; nothing to say where a run of this very instant exists."""
    schedule, span = step.schedule, step.span
    if Run.objects.filter(schedule=schedule, scheduled_for=span.newest, trigger=Trigger.SCHEDULE).exists():
        return None
    active = Run.objects.filter(job_id=schedule.job_id, state__in=ACTIVE_STATES).first()
    told: dict[str, Any] = {"run_id": active.id, "held_code": active.held_code} if active else {}
    return decisions.range_row(schedule, span, DecisionOutcome.COALESCED, "job_active", now=now, **told)
