"""Lists and admissions with a long history: no COUNT, no OFFSET, and the index that answers each (6.12).

Of pages, sequential scans and sorts are switched off, and what is asserted is that the query can be answered by the
index alone, in its order, beginning at the place of the page. Of the others, it is the plan that the database chooses
for thousands of runs. Either way the database is told what is in the table: what it believed otherwise hangs on when
it last looked.
"""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import connection

from jobs.admission import admit_waiting
from jobs.claims import claim_due
from jobs.models import Run
from tests.api.client import ApiClient
from tests.benchmarks.history_rows import make_history
from tests.jobs.builders import NOW, make_job, make_run, make_schedule

pytestmark = pytest.mark.django_db

# Indexes that hold active runs, however long the history is; by state, queries ask for active ones alone.
ACTIVE = ("runs_waiting", "runs_admitted", "runs_running", "runs_one_active_per_job", "runs_by_state")
PARTS = ("jobs_by_part_of_name", "runs_by_part_of_code", "runs_by_part_of_message")
COUNTING = re.compile(r"\bCOUNT\s*\(|\bOFFSET\b", re.IGNORECASE)


def asked(work: Callable[[], object], table: str) -> list[str]:
    """Return the queries of `table` that `work` asks, with their values."""
    found: list[str] = []

    def keep(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        found.append(context["cursor"].mogrify(sql, params).decode())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        work()
    read = [query for query in found if query.lstrip().startswith(("SELECT", "WITH"))]
    return [query for query in read if f"FROM {table}" in query.replace('"', "")]


def plan_of(query: str, *, without: Sequence[str] = ()) -> str:
    with connection.cursor() as database:
        for name in without:
            database.execute(f"SET LOCAL enable_{name} = off")
        database.execute(f"EXPLAIN {query}")
        return "\n".join(row[0] for row in database.fetchall())


def history() -> Run:
    """Return one of some hundred runs of all ends, of one job and of others."""
    make_history([make_job() for _ in range(20)], runs=800)
    job = make_job()
    for number, state in enumerate(("succeeded", "failed", "cancelled", "succeeded", "partial_failure")):
        make_run(job, state, created_at=NOW + dt.timedelta(seconds=number))
        make_run(None, state, created_at=NOW + dt.timedelta(seconds=number))
    for _ in range(3):
        make_run(kind="restore", state="succeeded")
    run = make_run(job, "failed")
    look_at("runs")
    return run


def long_history() -> None:
    """Thousands of finished runs, and a few that wait or run."""
    jobs = [make_job() for _ in range(30)]
    make_history(jobs, runs=4000)
    for job in jobs[:3]:
        make_run(job, "queued")
    make_run(jobs[3], "running")
    look_at("runs")


def look_at(table: str) -> None:
    """Let the database know what is in a table."""
    with connection.cursor() as database:
        database.execute(f"ANALYZE {table}")


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ("", "runs_by_age"),
        ("status=succeeded", "runs_by_age"),
        ("status=failed", "runs_by_state"),
        ("status=running", "runs_by_state"),
        ("kind=backup", "runs_by_age"),
        ("kind=restore", "runs_by_kind"),
        ("job={job}", "runs_by_job"),
        ("repository={repository}", "runs_by_repository"),
    ],
)
def test_each_page_of_runs_begins_in_its_index(filters: str, index: str) -> None:
    run = history()
    query = filters.format(job=run.job_id, repository=run.repository_id)
    first = ApiClient().get(f"runs?limit=1&{query}")
    pages = [f"runs?limit=1&{query}"]
    if first.json["next_cursor"]:
        pages.append(f"{pages[0]}&cursor={first.json['next_cursor']}")
    for page in pages:
        (listed,) = [one for one in asked(partial(ApiClient().get, page), "runs") if "LIMIT 2" in one]
        assert COUNTING.search(listed) is None
        plan = plan_of(listed, without=("seqscan", "sort", "bitmapscan"))
        assert f"using {index} on runs" in plan
        assert "Sort" not in plan


def test_the_list_of_jobs_reads_no_history() -> None:
    """A job's last result is a column, its active run is found by the index of active runs."""
    long_history()
    queries = asked(lambda: ApiClient().get("jobs?limit=20"), "runs")
    assert queries
    assert not any(COUNTING.search(query) for query in queries)
    for query in queries:
        assert any(name in plan_of(query) for name in ACTIVE), query


def test_a_pass_reads_no_history() -> None:
    """Claims, admission: what waits and what is active has indexes of its own."""
    long_history()
    make_schedule()
    queries = asked(lambda: (claim_due(now=NOW), admit_waiting(now=NOW)), "runs")
    assert any("job_sources" in query for query in queries)
    assert any("ORDER BY -(CASE runs.priority" in query for query in queries)
    assert not any(COUNTING.search(query) for query in queries)
    for query in queries:
        assert any(name in plan_of(query) for name in (*ACTIVE, "runs_pkey")), query


def test_a_search_begins_in_its_indexes() -> None:
    """The newest runs by their age, then parts of words: the history is read in neither."""
    make_history([make_job() for _ in range(30)], runs=3000)
    queries = asked(lambda: ApiClient().get("runs?limit=20&search=request+90+"), "runs")
    assert not any(COUNTING.search(query) for query in queries)
    newest = "\n".join(plan_of(query, without=("seqscan",)) for query in queries)
    assert "Seq Scan on runs" not in newest
    # Among few errors their index by age is as good for the database; it is to find those that need the other ones.
    # What they have not sorted in yet, of earlier tests too, is read through by each search, and counts in plans.
    with connection.cursor() as database:
        database.execute("DROP INDEX runs_errors_by_age")
        for name in PARTS:
            database.execute("SELECT gin_clean_pending_list(%s)", [name])
    by_parts = "\n".join(plan_of(query, without=("indexscan", "indexonlyscan")) for query in queries)
    for name, plans in (
        ("runs_by_age", newest),
        ("runs_errors_by_age", newest),
        *((name, by_parts) for name in PARTS),
    ):
        assert name in plans, plans
