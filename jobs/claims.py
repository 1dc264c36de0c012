"""Claiming: due schedules become waiting runs, each instant once, whoever else is claiming (A1, A13, A14, D1).

Owns the move of `schedules.next_at`, in the transaction that queues the run. `FOR UPDATE SKIP LOCKED` keeps claimers
apart; the unique instant holds even if that failed. A row that cannot be planned is flagged and stops no other.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from django.db import connection, transaction

from jobs import calendar, decisions, transitions
from jobs.due import Step, step_of
from jobs.flags import flag_schedule, flag_stuck
from jobs.models import Run, Schedule, ScheduleDecision
from jobs.planning import columns_of
from jobs.poison import POISON
from jobs.states import ACTIVE_STATES, DecisionOutcome, HeldCode, RunKind, ScheduleState, Trigger
from jobs.successors import NewRun
from jobs.window_rows import current_rules, plan_by_windows

BATCH: Final = 500

_MOVE: Final = """
UPDATE schedules SET next_at = moved.next_at, next_wall = moved.next_wall, fingerprint = moved.fingerprint,
    last_planned_at = moved.claimed
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::text[], %s::timestamptz[])
    AS moved (id, next_at, next_wall, fingerprint, claimed)
WHERE schedules.id = moved.id
"""


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim did: runs queued, instants that another run already stands for, rows flagged, and schedules
    whose instants became no run: they were missed for too long, or windows leave none free.
    """

    queued: int = 0
    coalesced: int = 0
    flagged: int = 0
    refused: int = 0

    def __add__(self, other: "Claimed") -> "Claimed":
        return Claimed(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Claimed)))


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
        # First of all: whoever changes windows holds this lock when it locks schedules.
        plan_by_windows()
        due = _lock_due(now)
        if not due:
            return 0, Claimed()
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
    steps, flagged, rules = [], 0, current_rules()
    for schedule in due:
        try:
            steps.append(step_of(schedule, rules, now))
        except POISON as error:
            flag_schedule(schedule, error, now=now)
            flagged += 1
    return steps, Claimed(flagged=flagged)


def _write(steps: Sequence[Step], now: dt.datetime) -> Claimed:
    """Write the runs, the new instants and the decisions of all steps in a handful of statements."""
    if not steps:
        return Claimed()
    started = [(step, step.starts_at) for step in steps if step.starts_at is not None]
    runs = transitions.enqueue_all([_planned_run(step, starts_at) for step, starts_at in started], now=now)
    _move_schedules(steps)
    decided, total = [], Claimed()
    for (step, _), run in zip(started, runs, strict=True):
        if run:
            decided += _ran(step, run, now)
            total += Claimed(queued=1)
        elif not _is_there(step):
            decided += _coalesced(step, now)
            total += Claimed(coalesced=1)
    for step in steps:
        if step.refusal is not None:
            decided.append(_refused(step, *step.refusal, now))
            total += Claimed(refused=1)
        if step.is_stuck:
            flag_stuck(step.schedule, step.held, now=now)
    decisions.write_all(decided, now=now)
    return total


def _move_schedules(steps: Sequence[Step]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, [list(column) for column in zip(*map(_moved, steps), strict=True)])


def _moved(step: Step) -> tuple[uuid.UUID, dt.datetime | None, str, str, dt.datetime]:
    columns, schedule = columns_of(step.following), step.schedule
    grounds = calendar.fingerprint(step.plan, anchor=schedule.anchor)
    return schedule.id, columns["next_at"], columns["next_wall"], grounds, step.span.newest


def _write_alone(step: Step, now: dt.datetime) -> Claimed:
    try:
        with transaction.atomic():
            return _write([step], now)
    except POISON as error:
        flag_schedule(step.schedule, error, now=now)
        return Claimed(flagged=1)


def _planned_run(step: Step, starts_at: dt.datetime) -> NewRun:
    schedule, job = step.schedule, step.schedule.job
    return NewRun(
        kind=RunKind.BACKUP,
        repository_id=job.repository_id,
        runner_id=job.runner_id,
        trigger=Trigger.SCHEDULE,
        requested_by="schedule",
        scheduled_for=step.span.newest,
        not_before=starts_at,
        priority=job.priority,
        job_id=job.id,
        schedule_id=schedule.id,
        held_code=HeldCode.WINDOW if step.held else "",
        held_subject=step.held,
    )


def _ran(step: Step, run: Run, now: dt.datetime) -> list[ScheduleDecision]:
    """Say which instants before the newest were skipped in its favour (A13), and until when a window postpones it."""
    decided = []
    earlier = decisions.without_newest(step.span, step.plan)
    if earlier is not None:
        skipped = DecisionOutcome.SKIPPED
        decided.append(decisions.range_row(step.schedule, earlier, skipped, "missed", now=now, run_id=run.id))
    if step.held:
        newest, told = decisions.newest_of(step.span), {"held": step.held}
        outcome = DecisionOutcome.POSTPONED
        decided.append(decisions.range_row(step.schedule, newest, outcome, "window", now=now, run_id=run.id, **told))
    return decided


def _refused(step: Step, outcome: DecisionOutcome, reason_code: str, now: dt.datetime) -> ScheduleDecision:
    told: dict[str, Any] = {"within_seconds": step.schedule.missed_within_seconds, "held": step.held}
    kept = {name: value for name, value in told.items() if value}
    return decisions.range_row(step.schedule, step.span, outcome, reason_code, now=now, **kept)


def _is_there(step: Step) -> bool:
    """Tell whether a run of this very instant exists: then there is nothing to say."""
    same = Run.objects.filter(schedule=step.schedule, scheduled_for=step.span.newest, trigger=Trigger.SCHEDULE)
    return same.exists()


def _coalesced(step: Step, now: dt.datetime) -> list[ScheduleDecision]:
    """Say which active run stands for the instants; a run that stood for those before has its row go on."""
    schedule, span = step.schedule, step.span
    active = Run.objects.filter(job_id=schedule.job_id, state__in=ACTIVE_STATES).first()
    if active is not None and decisions.continue_last(schedule, span, active.id):
        return []
    told: dict[str, Any] = {"run_id": active.id, "held_code": active.held_code} if active else {}
    return [decisions.range_row(schedule, span, DecisionOutcome.COALESCED, "job_active", now=now, **told)]
