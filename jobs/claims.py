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
from django.db.models import QuerySet

from jobs import calendar, decisions, missed, transitions
from jobs.coalescing import coalesced
from jobs.due import Judge, Step
from jobs.flags import flag_schedule, flag_stuck
from jobs.models import Schedule, ScheduleDecision
from jobs.planning import planned
from jobs.poison import POISON
from jobs.states import DecisionOutcome, HeldCode, MissedPolicy, RunKind, ScheduleState, Trigger
from jobs.successors import NewRun
from jobs.window_rows import current_rules, plan_by_windows
from repositories.models import Repository

BATCH: Final = 500

_MOVE: Final = """
UPDATE schedules SET next_at = moved.next_at, next_wall = moved.next_wall, zone_rules = moved.zone_rules,
    fingerprint = moved.fingerprint, last_planned_at = moved.claimed
FROM unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
    AS moved (id, next_at, next_wall, zone_rules, fingerprint, claimed)
WHERE schedules.id = moved.id
"""
# What a claim looks at; a row has thrice as many columns, and hundreds are read at once.
_READ: Final = (
    "definition",
    "anchor",
    "next_at",
    "next_wall",
    "zone_rules",
    "missed",
    "missed_within_seconds",
    "job__repository_id",
    "job__runner_id",
    "job__priority",
)


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
    # Nearly every pass finds nothing, and asks no more than this: no transaction, no lock.
    if not Schedule.objects.filter(next_at__lte=now, state=ScheduleState.ACTIVE, deleted_at__isnull=True).exists():
        return total
    for _ in range(most_batches):
        seen, claimed = _claim_batch(now)
        total += claimed
        if seen < BATCH:
            break
    return total


def claim_of_job(job_id: uuid.UUID, schedule_ids: Sequence[uuid.UUID], *, now: dt.datetime) -> Claimed:
    """Claim what is due of some schedules of one job before they change, in the caller's transaction (5.9).

    The caller holds the windows' lock and the job's, so that nobody else claims them meanwhile.
    """
    due = _due(now).filter(job_id=job_id, id__in=schedule_ids).select_for_update(of=("self",), no_key=True)
    return _claim(list(due.select_related("job").order_by("next_at", "id")), now)


def _claim_batch(now: dt.datetime) -> tuple[int, Claimed]:
    with transaction.atomic():
        # First of all: whoever changes windows holds this lock when it locks schedules.
        plan_by_windows()
        due = _lock_due(now)
        return len(due), _claim(due, now)


def _claim(due: Sequence[Schedule], now: dt.datetime) -> Claimed:
    if not due:
        return Claimed()
    steps, total = _plan_all(due, now)
    try:
        with transaction.atomic():
            return total + _write(steps, now)
    except POISON:
        # One row spoils the statement for all: each gets a savepoint of its own, and only that one is flagged.
        for step in steps:
            total += _write_alone(step, now)
    return total


def _due(now: dt.datetime) -> QuerySet[Schedule]:
    due = Schedule.objects.filter(
        next_at__lte=now,
        state=ScheduleState.ACTIVE,
        deleted_at__isnull=True,
        job__deleted_at__isnull=True,
        job__paused_at__isnull=True,
    )
    # What newer runs did is unknown here until the repository was indexed again: it is not to be done twice.
    # Asked apart: joined, a claim with nothing due may look at all jobs first.
    unknown = list(Repository.objects.filter(reindex_wanted_at__isnull=False).values_list("pk", flat=True))
    return due.exclude(job__repository_id__in=unknown) if unknown else due


def _lock_due(now: dt.datetime) -> Sequence[Schedule]:
    """Lock due schedules with their jobs: a job that is being paused or changed right now is left to the next pass."""
    locked = _due(now).select_for_update(skip_locked=True, of=("self", "job"), no_key=True)
    return list(locked.select_related("job").only(*_READ).order_by("next_at", "id")[:BATCH])


def _plan_all(due: Sequence[Schedule], now: dt.datetime) -> tuple[list[Step], Claimed]:
    steps, flagged, judge = [], 0, Judge(current_rules(), now)
    for schedule in due:
        try:
            steps.append(judge.step_of(schedule))
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
    merged, decided = coalesced([step for (step, _), run_id in zip(started, runs, strict=True) if not run_id], now=now)
    for (step, _), run_id in zip(started, runs, strict=True):
        if run_id:
            decided += _ran(step, run_id, now)
    refused = [step for step in steps if step.refusal is not None]
    for step in refused:
        decided += _refused(step, now)
        if step.is_stuck:
            flag_stuck(step.schedule, step.held, now=now)
    decisions.write_all(decided, now=now)
    return Claimed(queued=len(runs) - runs.count(None), coalesced=merged, refused=len(refused))


def _move_schedules(steps: Sequence[Step]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, [list(column) for column in zip(*map(_moved, steps), strict=True)])


def _moved(step: Step) -> tuple[uuid.UUID, dt.datetime | None, str, str, str, dt.datetime]:
    columns, schedule = planned(step.plan, step.following), step.schedule
    grounds = calendar.fingerprint(step.plan, anchor=schedule.anchor)
    return schedule.id, columns["next_at"], columns["next_wall"], columns["zone_rules"], grounds, step.span.newest


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


def _ran(step: Step, run_id: uuid.UUID, now: dt.datetime) -> list[ScheduleDecision]:
    """Say why instants before the newest are no runs (A13), and until when a window postpones it."""
    decided = []
    earlier = decisions.without_newest(step.span, step.plan)
    if earlier is not None:
        decided.append(_passed_over(step.schedule, earlier, run_id, now))
    if step.held:
        newest, told = decisions.newest_of(step.span), {"held": step.held}
        outcome = DecisionOutcome.POSTPONED
        decided.append(decisions.range_row(step.schedule, newest, outcome, "window", now=now, run_id=run_id, **told))
    return decided


def _passed_over(schedule: Schedule, span: calendar.Span, run_id: uuid.UUID, now: dt.datetime) -> ScheduleDecision:
    """Say what kept the instants of `span` from running: the policy by itself, or the newer one that runs."""
    policy, within = MissedPolicy(schedule.missed), schedule.missed_within_seconds
    refusal = missed.refusal(policy, within, now - span.newest)
    if refusal is None:
        return decisions.range_row(schedule, span, DecisionOutcome.SKIPPED, "missed", now=now, run_id=run_id)
    told: dict[str, Any] = {"within_seconds": within} if within else {}
    return decisions.range_row(schedule, span, *refusal, now=now, **told)


def _refused(step: Step, now: dt.datetime) -> list[ScheduleDecision]:
    if step.refusal is None:
        return []
    told: dict[str, Any] = {"within_seconds": step.schedule.missed_within_seconds, "held": step.held}
    kept = {name: value for name, value in told.items() if value}
    outcome, reason_code = step.refusal
    return [decisions.range_row(step.schedule, step.span, outcome, reason_code, now=now, **kept)]
