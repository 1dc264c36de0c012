"""Claiming of upkeep: due plans become waiting runs, each instant once, whoever else is claiming (A1, A13, A14, 6.7).

Owns the move of `upkeep_plans.next_at`, in the transaction that queues the run. An installation has a handful of
plans, so each is claimed by itself; one that cannot be planned is flagged and stops no other.
"""

import datetime as dt
from dataclasses import dataclass

from django.db import transaction

from jobs import calendar, decisions, transitions
from jobs.models import Run, UpkeepDecision, UpkeepPlan
from jobs.planning import following_of, planned
from jobs.poison import POISON
from jobs.services.runners import group_runner
from jobs.states import ACTIVE_STATES, DecisionOutcome, Priority, RunKind, Trigger
from jobs.successors import NewRun

KEPT_ROWS = 1000
ACTOR = "upkeep"


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim did: runs queued, plans whose instants an active run stands for, plans flagged."""

    queued: int = 0
    coalesced: int = 0
    flagged: int = 0


def claim_upkeep(*, now: dt.datetime) -> Claimed:
    """Claim the plans that are due at `now` (database time) and that nobody else is claiming."""
    queued = coalesced = flagged = 0
    due = UpkeepPlan.objects.filter(
        next_at__lte=now, flag="", deleted_at__isnull=True, repository__reindex_wanted_at__isnull=True
    )
    if not due.exists():
        return Claimed()
    with transaction.atomic():
        locked = due.select_for_update(skip_locked=True, of=("self",), no_key=True).select_related("repository")
        for plan in locked.order_by("next_at", "id"):
            try:
                with transaction.atomic():
                    run = _claim(plan, now)
                    queued += run is not None
                    coalesced += run is None
            except POISON as error:
                flag_plan(plan, error)
                flagged += 1
    return Claimed(queued, coalesced, flagged)


def flag_plan(plan: UpkeepPlan, error: Exception) -> None:
    """Mark a plan with why it cannot be planned; its instant stays, so that what passes meanwhile gets its decision."""
    flag = f"Cannot be planned: {error}"[:500].replace("\0", "")
    rules = calendar.zone_rules_of(plan.definition)
    UpkeepPlan.objects.filter(id=plan.id).update(flag=flag, zone_rules=rules)


def decide_due(plan: UpkeepPlan, reason_code: str, *, now: dt.datetime) -> None:
    """Write what becomes of a plan's due and unclaimed instants, before it is planned anew or ended."""
    if plan.next_at is None or plan.next_at > now:
        return
    schedule = calendar.parse(plan.definition, anchor=plan.anchor)
    decide_span(plan, calendar.span(schedule, plan.next_at, now), DecisionOutcome.SKIPPED, reason_code, now=now)


def _claim(plan: UpkeepPlan, now: dt.datetime) -> Run | None:
    schedule = calendar.parse(plan.definition, anchor=plan.anchor)
    due_at = plan.next_at or now
    span = calendar.span(schedule, due_at, now)
    # Later than what was planned and than now: no instant twice, no drift (A14).
    columns = planned(schedule, following_of(plan, schedule, max(due_at, now)))
    UpkeepPlan.objects.filter(id=plan.id).update(last_planned_at=span.newest, **columns)
    run = transitions.enqueue(_planned_run(plan, span.newest, now), now=now)
    if run is None:
        active = Run.objects.filter(repository=plan.repository, kind=plan.kind, state__in=ACTIVE_STATES).first()
        decide_span(plan, span, DecisionOutcome.COALESCED, "upkeep_active", now=now, run=active)
        return None
    earlier = decisions.without_newest(span, schedule)
    if earlier is not None:
        decide_span(plan, earlier, DecisionOutcome.SKIPPED, "missed", now=now, run=run)
    return run


def _planned_run(plan: UpkeepPlan, instant: dt.datetime, now: dt.datetime) -> NewRun:
    return NewRun(
        kind=RunKind(plan.kind),
        repository_id=plan.repository_id,
        runner_id=group_runner(plan.repository.worker_group, now=now).id,
        trigger=Trigger.SCHEDULE,
        requested_by=ACTOR,
        scheduled_for=instant,
        not_before=instant,
        # Backups come first: what upkeep did not do tonight it does tomorrow.
        priority=Priority.LOW,
        upkeep_id=plan.id,
        parameters=plan.parameters,
    )


def decide_span(
    plan: UpkeepPlan,
    span: calendar.Span,
    outcome: DecisionOutcome,
    reason_code: str,
    *,
    now: dt.datetime,
    run: Run | None = None,
) -> None:
    """Write a decision; one that merges into the same run as the last goes on, and old ones are forgotten."""
    rows = UpkeepDecision.objects.filter(upkeep=plan).order_by("-id")
    last, run_id = rows.first(), run.id if run else None
    merges = outcome is DecisionOutcome.COALESCED and last is not None
    if merges and last and (last.outcome, last.run_id) == (outcome, run_id):
        last.last_at, last.count = span.newest, last.count + span.count
        last.save(update_fields=["last_at", "count"])
        return
    UpkeepDecision.objects.create(
        upkeep=plan,
        first_at=span.first,
        last_at=span.newest,
        count=span.count,
        count_is_minimum=span.count_is_minimum,
        outcome=outcome,
        reason_code=reason_code,
        run_id=run_id,
        created_at=now,
    )
    beyond = rows.values_list("id", flat=True)[KEPT_ROWS : KEPT_ROWS + 1].first()
    if beyond is not None:
        UpkeepDecision.objects.filter(upkeep=plan, id__lte=beyond).delete()
