"""Claiming: due schedules become waiting runs, each instant once, whoever else is claiming (A1, A13, A14, D1).

Owns the move of `schedules.next_at`, in the transaction that queues the run. `FOR UPDATE SKIP LOCKED` keeps claimers
apart; the unique instant holds even if that failed. A row that cannot be planned is flagged and stops no other.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import DataError, IntegrityError, transaction

from jobs import calendar, decisions, transitions
from jobs.models import Job, Run, Schedule, ScheduleEvent
from jobs.states import ACTIVE_STATES, DecisionOutcome, RunKind, ScheduleState, Trigger
from jobs.successors import NewRun
from syncova_project.errors import SyncovaError

BATCH: Final = 500
# What the content of one row can cause; the database being away is not among it and ends the pass.
POISON: Final = (SyncovaError, DataError, IntegrityError, ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim did: runs queued, instants that another run already stands for, rows flagged."""

    queued: int = 0
    coalesced: int = 0
    flagged: int = 0

    def __add__(self, other: "Claimed") -> "Claimed":
        return Claimed(self.queued + other.queued, self.coalesced + other.coalesced, self.flagged + other.flagged)


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
        total = Claimed()
        for schedule in due:
            total += _claim_guarded(schedule, now)
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


def _claim_guarded(schedule: Schedule, now: dt.datetime) -> Claimed:
    try:
        with transaction.atomic():
            return _claim(schedule, now)
    except POISON as error:
        _flag(schedule, error, now)
        return Claimed(flagged=1)


def _claim(schedule: Schedule, now: dt.datetime) -> Claimed:
    planned = schedule.next_at
    if planned is None:
        return Claimed()
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    span = calendar.span(plan, planned, now)
    run = transitions.enqueue(_planned_run(schedule, schedule.job, span.newest), now=now)
    # Later than what was planned and than now: no instant twice, no drift, whatever clock or calendar did.
    following = plan.next_after(max(planned, now))
    Schedule.objects.filter(id=schedule.id).update(
        next_at=following.instant if following else None, last_planned_at=span.newest
    )
    if run is None:
        return _coalesce(schedule, span, now)
    missed = decisions.without_newest(span, plan)
    if missed is not None:
        decisions.decide_range(schedule, missed, DecisionOutcome.SKIPPED, "missed", now=now, run_id=run.id)
    return Claimed(queued=1)


def _planned_run(schedule: Schedule, job: Job, instant: dt.datetime) -> NewRun:
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


def _coalesce(schedule: Schedule, span: calendar.Span, now: dt.datetime) -> Claimed:
    """Say which active run stands for the instants; nothing to say where a run of this very instant exists."""
    if Run.objects.filter(schedule=schedule, scheduled_for=span.newest, trigger=Trigger.SCHEDULE).exists():
        return Claimed()
    active = Run.objects.filter(job_id=schedule.job_id, state__in=ACTIVE_STATES).first()
    told: dict[str, Any] = {"run_id": active.id, "held_code": active.held_code} if active else {}
    decisions.decide_range(schedule, span, DecisionOutcome.COALESCED, "job_active", now=now, **told)
    return Claimed(coalesced=1)


def _flag(schedule: Schedule, error: Exception, now: dt.datetime) -> None:
    told = {"error": type(error).__name__, "message": str(error)[:500].replace("\0", "")}
    Schedule.objects.filter(id=schedule.id).update(
        state=ScheduleState.FLAGGED, state_code="unplannable", state_parameters=told
    )
    ScheduleEvent.objects.create(schedule=schedule, at=now, code="flagged", parameters=told)
