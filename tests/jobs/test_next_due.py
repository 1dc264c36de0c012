"""What falls due next: each kind of instant, and that indexes alone answer (execution.md, 2; 6.12)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection

from jobs.database_time import database_now
from jobs.models import SchedulerState, UpkeepPlan
from jobs.next_due import next_due
from jobs.services.upkeep import upkeep_set
from jobs.states import RunKind
from tests.benchmarks.history_rows import make_history
from tests.jobs.builders import DAILY, NOW, make_job, make_run, make_schedule
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

SECOND = dt.timedelta(seconds=1)


def passed(at: dt.datetime) -> None:
    SchedulerState.objects.update_or_create(id=1, defaults={"last_pass_at": at, "requests_seen": 0})


def plant(kind: str, at: dt.datetime) -> None:
    if kind == "schedule":
        make_schedule(next_at=at)
    elif kind == "run":
        make_run(not_before=at)
    else:
        asked: dict[str, Any] = {"definition": DAILY, "parameters": {}, "actor": "alice"}
        upkeep_set(RunKind.PRUNE, repository_id=make_repository().id, now=NOW, **asked)
        UpkeepPlan.objects.update(next_at=at)


@pytest.mark.parametrize("kind", ["schedule", "upkeep", "run"])
def test_what_no_pass_has_looked_at_is_told(kind: str) -> None:
    now = database_now()
    passed(now)
    plant(kind, now - SECOND)
    assert due() is None, "the last pass has seen it"
    passed(now - 2 * SECOND)
    assert due() == now - SECOND
    assert due(after=now - SECOND) is None
    if kind == "schedule":
        make_run(not_before=now + 5 * SECOND)
        assert due(after=now) == now + 5 * SECOND


def due(after: dt.datetime | None = None) -> dt.datetime | None:
    seen = next_due(after)
    assert seen is not None
    return seen.due_at


def test_what_is_never_claimed_asks_for_nothing() -> None:
    passed(NOW)
    make_schedule(next_at=database_now() + SECOND, state="flagged", state_code="unplannable")
    make_run(not_before=database_now() + SECOND, admitted=True)
    assert due() is None


def test_before_the_first_pass_nothing_is_known() -> None:
    assert next_due() is None


def test_indexes_answer_with_a_row_each() -> None:
    """Asked at each tick: not a question that grows with the schedules."""
    job = make_schedule().job
    for number in range(300):
        make_schedule(job, next_at=NOW + number * SECOND)
    make_history([make_job() for _ in range(20)], runs=800)
    passed(NOW)
    with connection.cursor() as cursor:
        # What the database believes of small tables hangs on when it last looked at them.
        cursor.execute("ANALYZE schedules")
        cursor.execute("SET LOCAL enable_seqscan = off")
    asked: list[tuple[str, Any]] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        assert due() == NOW + SECOND
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked[0][0]}", asked[0][1])
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "schedules_due" in plan
    assert "runs_waiting" in plan
