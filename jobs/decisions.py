"""Decisions: a row for each range of planned instants that did not become runs of their own (H7, A13).

Owns the writing. A range is counted by arithmetic or bounded stepping, never one row an instant.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import connection

from jobs import calendar
from jobs.models import Schedule, ScheduleDecision
from jobs.states import DecisionOutcome

KEPT_ROWS: Final = 1000
KEPT_FOR: Final = dt.timedelta(days=400)
_LAST: Final = """
SELECT last.* FROM unnest(%s::uuid[]) AS of (id)
CROSS JOIN LATERAL (
    SELECT * FROM schedule_decisions WHERE schedule_decisions.schedule_id = of.id ORDER BY id DESC LIMIT 1
) AS last
"""
_LENGTHEN: Final = """
UPDATE schedule_decisions SET last_at = longer.last_at, count = longer.count, count_is_minimum = longer.is_minimum
FROM unnest(%s::bigint[], %s::timestamptz[], %s::bigint[], %s::boolean[]) AS longer (id, last_at, count, is_minimum)
WHERE schedule_decisions.id = longer.id
"""
_FORGET: Final = """
DELETE FROM schedule_decisions USING unnest(%s::uuid[]) AS of (schedule_id)
CROSS JOIN LATERAL (
    SELECT coalesce(max(id), 0) AS last FROM (
        SELECT id FROM schedule_decisions
        WHERE schedule_decisions.schedule_id = of.schedule_id ORDER BY id DESC OFFSET %s LIMIT 1
    ) AS beyond
) AS surplus
WHERE schedule_decisions.schedule_id = of.schedule_id
  AND (schedule_decisions.id <= surplus.last OR schedule_decisions.created_at < %s)
"""


def decide_range(
    schedule: Schedule,
    span: calendar.Span,
    outcome: DecisionOutcome,
    reason_code: str,
    *,
    now: dt.datetime,
    **told: Any,
) -> ScheduleDecision:
    """Write what became of the instants of `span`; `told` may hold `run_id` and parameters of the reason."""
    decision = range_row(schedule, span, outcome, reason_code, now=now, **told)
    decision.save()
    return decision


def range_row(
    schedule: Schedule,
    span: calendar.Span,
    outcome: DecisionOutcome,
    reason_code: str,
    *,
    now: dt.datetime,
    **told: Any,
) -> ScheduleDecision:
    """Return the row that `decide_range` writes, for writing many at once."""
    run_id: uuid.UUID | None = told.pop("run_id", None)
    return ScheduleDecision(
        schedule=schedule,
        first_at=span.first,
        last_at=span.newest,
        count=span.count,
        count_is_minimum=span.count_is_minimum,
        outcome=outcome,
        reason_code=reason_code,
        parameters=told,
        run_id=run_id,
        created_at=now,
    )


def last_of(schedule_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, ScheduleDecision]:
    """Return the newest decision of each schedule that has one, in one query."""
    newest = ScheduleDecision.objects.raw(_LAST, [list(schedule_ids)])
    return {row.schedule_id: row for row in newest}


def goes_on(last: ScheduleDecision, span: calendar.Span, run_id: uuid.UUID) -> bool:
    """Let a schedule's last decision go on over `span`, if it merged into the same run; False: it did not.

    A minute's schedule beside a run of twelve hours is one row, not 720. `lengthen` writes it.
    """
    if (last.outcome, last.run_id) != (DecisionOutcome.COALESCED, run_id):
        return False
    last.last_at, last.count = span.newest, last.count + span.count
    last.count_is_minimum = last.count_is_minimum or span.count_is_minimum
    return True


def lengthen(rows: Sequence[ScheduleDecision]) -> None:
    """Write how far decisions go now, in one statement."""
    if not rows:
        return
    told = [(row.id, row.last_at, row.count, row.count_is_minimum) for row in rows]
    with connection.cursor() as cursor:
        cursor.execute(_LENGTHEN, [list(column) for column in zip(*told, strict=True)])


def write_all(rows: Sequence[ScheduleDecision], *, now: dt.datetime) -> None:
    """Write many rows, and forget those of their schedules that are too old or too many."""
    if not rows:
        return
    ScheduleDecision.objects.bulk_create(rows)
    schedule_ids = list({row.schedule_id for row in rows})
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [schedule_ids, KEPT_ROWS, now - KEPT_FOR])


def decide_due(
    schedule: Schedule, plan: calendar.Plan, outcome: DecisionOutcome, reason_code: str, *, now: dt.datetime
) -> ScheduleDecision | None:
    """Write what becomes of everything that is due and unclaimed, before the schedule is planned anew."""
    if schedule.next_at is None or schedule.next_at > now:
        return None
    return decide_range(schedule, calendar.span(plan, schedule.next_at, now), outcome, reason_code, now=now)


def without_newest(span: calendar.Span, plan: calendar.Plan) -> calendar.Span | None:
    """Return the part of a span that came before its newest instant; None when that is the only one."""
    if span.count < 2:
        return None
    before = plan.latest_until(span.newest - dt.timedelta(microseconds=1))
    last = before.instant if before is not None and before.instant > span.first else span.first
    count = span.count - 1 if last > span.first else 1
    return calendar.Span(span.first, last, count, span.count_is_minimum)


def newest_of(span: calendar.Span) -> calendar.Span:
    """Return the newest instant of a span alone."""
    return calendar.Span(span.newest, span.newest, 1, count_is_minimum=False)
