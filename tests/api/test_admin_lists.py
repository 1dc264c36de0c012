"""Lists of the admin over long histories: no count, no offset, pages by key, and the index that answers each (7.11)."""

import datetime as dt
import re
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs import run_log
from jobs.database_time import database_now
from jobs.models import Run, ScheduleDecision
from jobs.run_log import LogLine
from jobs.services import WindowInput, window_create
from repositories.models import Repository
from tests.api.admin_pages import harmless_page, operator
from tests.api.builders import make_job as jobs_by_alice
from tests.api.test_history_indexes import COUNTING, asked, history, long_history, plan_of
from tests.benchmarks.history_rows import make_history
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_source, make_task_run
from tests.repositories.builders import make_backup, make_repository

pytestmark = pytest.mark.django_db
RUNS = "/admin/jobs/run/"
NEXT = re.compile(r'<a href="([^"]+)" rel="next">')


def listed(client: Client, address: str, table: str) -> str:
    """Return the one query that reads a page of the list."""
    queries = asked(partial(harmless_page, client, address), table)
    (page,) = [query for query in queries if "LIMIT 51" in query]
    return page


def next_page(client: Client, address: str) -> str:
    """Return the address of the page after this one."""
    found = NEXT.search(harmless_page(client, address))
    assert found is not None
    return RUNS + found[1].replace("&amp;", "&")


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ("", "runs_by_age"),
        ("state__exact=failed", "runs_by_state"),
        ("failure=repository", "runs_by_state"),
        ("kind__exact=restore", "runs_by_kind"),
        ("job__id__exact={job}", "runs_by_job"),
        ("repository__id__exact={repository}", "runs_by_repository"),
    ],
)
def test_each_page_of_runs_begins_in_its_index(filters: str, index: str) -> None:
    run, client = history(), operator()
    address = f"{RUNS}?{filters.format(job=run.job_id, repository=run.repository_id)}"
    query = listed(client, address, "runs")
    assert COUNTING.search(query) is None
    plan = plan_of(query, without=("seqscan", "sort", "bitmapscan"))
    assert f"using {index} on runs" in plan
    assert "Sort" not in plan


def test_no_query_of_a_list_of_runs_counts_or_skips() -> None:
    """With thousands of runs, on the first page and on the one after it: the same few queries, none of them longer."""
    long_history()
    client = operator()
    costs = []
    for address in (RUNS, next_page(client, RUNS)):
        with CaptureQueriesContext(connection) as queries:
            page = harmless_page(client, address)
        told = [query["sql"] for query in queries if '"runs"' in query["sql"]]
        assert not [sql for sql in told if COUNTING.search(sql)]
        assert page.count('class="field-created_at') in (50, 51) or page.count("<tr>") > 50
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 5


def test_pages_follow_each_other_without_a_gap_or_a_double() -> None:
    jobs = [make_job() for _ in range(3)]
    make_history(jobs, runs=130)
    client, address, seen = operator(), RUNS, list[str]()
    for _ in range(4):
        page = harmless_page(client, address)
        seen += re.findall(r'<a href="/admin/jobs/run/([0-9a-f-]{36})/change/', page)
        found = NEXT.search(page)
        if found is None:
            break
        address = RUNS + found[1].replace("&amp;", "&")
    assert seen == [str(key) for key in Run.objects.order_by("-created_at", "-id").values_list("id", flat=True)]


def test_a_cursor_of_another_list_leads_to_the_beginning() -> None:
    make_history([make_job()], runs=60)
    client = operator()
    after = next_page(client, RUNS).partition("after=")[2]
    for address in (f"{RUNS}?after=forged", f"{RUNS}?state__exact=succeeded&after={after}"):
        assert client.get(address).headers["Location"].endswith("?e=1")


@pytest.mark.parametrize("lookup", ["error_message__icontains", "worker", "trigger__exact", "job__name__contains"])
def test_what_has_no_index_is_no_filter(lookup: str) -> None:
    assert operator().get(f"{RUNS}?{lookup}=x").status_code == 400


def test_pages_of_runs_and_jobs_read_what_is_their_own() -> None:
    """None of their queries walks through history; a run's page costs the same for any number of rows beneath it."""
    long_history()
    run, client, costs = make_run(make_job(), "failed"), operator(), []
    address = reverse("admin:jobs_run_change", args=[run.pk])
    harmless_page(client, address)
    for number in range(2):
        make_task_run(run, make_source(f"/srv/{number}".encode()), position=number)
        with CaptureQueriesContext(connection) as queries:
            harmless_page(client, address)
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 16
    for page in (address, reverse("admin:jobs_job_change", args=[run.job_id])):
        asks = asked(partial(harmless_page, client, page), "runs")
        assert asks
        for query in asks:
            assert COUNTING.search(query) is None
            assert "Seq Scan on runs" not in plan_of(query), query


def test_repositories_tell_what_is_proven_by_one_query() -> None:
    client = operator()
    proof = {"bytes": 200, "verified_bytes": 100, "oldest_verified_at": "2026-11-01T00:00:00Z"}
    _, unknown, part = (make_repository(name=name) for name in ("never", "unknown", "part"))
    make_run(None, "succeeded", kind="check", repository=unknown, reason_code="completed")
    told = {"reason_code": "completed", "reason_parameters": {"proof": proof}}
    make_run(None, "succeeded", kind="check", repository=part, **told)
    make_run(None, "queued", kind="check", repository=part)
    page = harmless_page(client, "/admin/repositories/repository/")
    for text in (
        "✗ nothing: it was never checked",
        "✗ unknown: the newest",
        "◐ a part: 50 % of 200 B, read since 2026-11-01",
    ):
        assert text in page
    with CaptureQueriesContext(connection) as queries:
        harmless_page(client, "/admin/repositories/repository/")
    assert len(queries) <= 6
    assert Repository.objects.count() == 3


def test_the_queue_says_why_each_run_waits_in_order() -> None:
    """C1, C3: the order and the reasons of GET /queue, in pages."""
    for priority in ("low", "critical", "normal"):
        held = {"held_code": "no_worker", "held_subject": "default", "held_since": NOW}
        make_run(make_job(name=f"waiting {priority}"), "queued", priority=priority, created_at=NOW, **held)
    page = harmless_page(operator(), reverse("admin:jobs_run_queue"))
    places = [page.index(f"waiting {priority}") for priority in ("critical", "normal", "low")]
    assert places == sorted(places)
    assert page.count("Waits for a worker of the group default") == 3
    assert "3 runs in all." in page


def test_an_empty_queue_says_so() -> None:
    client = operator()
    assert "Nothing waits." in harmless_page(client, reverse("admin:jobs_run_queue"))
    assert client.get(f"{reverse('admin:jobs_run_queue')}?after=forged").status_code == 302


def test_decisions_are_found_by_the_job() -> None:
    schedule = make_schedule()
    for number in range(60):
        moment = NOW + dt.timedelta(days=number)
        ScheduleDecision.objects.create(
            schedule=schedule,
            first_at=moment,
            last_at=moment,
            count=1,
            outcome="skipped",
            reason_code="missed",
            created_at=NOW,
        )
    client, address = operator(), "/admin/jobs/scheduledecision/"
    for query in ("", f"?q={schedule.job.name[:5]}", f"?schedule__job__id__exact={schedule.job_id}"):
        page = harmless_page(client, address + query)
        assert page.count("skipped: nothing ran the scheduler then") == 50
        assert NEXT.search(page) is not None
    assert "skipped: nothing" not in harmless_page(client, f"{address}?q=another")


def test_a_window_shows_what_it_does() -> None:
    """B9: its next openings and the starts that it moves, on its page."""
    now = database_now()
    schedule = make_schedule(definition={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    night: dict[str, Any] = {
        "type": "blackout",
        "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
        "start": "01:00",
    }
    night |= {"length_seconds": 7200, "time_zone": "UTC"}
    window = window_create(WindowInput("night", night), actor="alice", now=now).window
    page = harmless_page(operator(), reverse("admin:jobs_window_change", args=[window.pk]))
    assert page.count("01:00:00 UTC") >= 5
    assert schedule.job.name in page[page.index("What it moves") :]
    assert "03:00:00 UTC" in page


def test_a_runs_page_ends_with_the_last_lines_of_its_log() -> None:
    """H6: a bounded part of it, harmless whatever a file was called."""
    run = make_run(make_job(), "running")
    lines = [LogLine(NOW, "info", f"line {number} \u202e<script>alert(1)</script>") for number in range(450)]
    assert run.fence is not None
    assert run_log.append(run.id, run.fence, lines, now=NOW)
    page = harmless_page(operator(), reverse("admin:jobs_run_change", args=[run.pk]))
    assert "line 449 " in page
    assert "line 250 " in page
    assert "line 249 " not in page
    assert "250 come before" in page
    assert 'data-live="yes"' in page


def test_the_audit_trail_is_found_by_whole_words() -> None:
    """Who, what, and which thing: each by an index; a page of it counts nothing."""
    job = jobs_by_alice()
    client, address = operator(), "/admin/access/auditentry/"
    for query in (f"q={job.pk}", "q=job.create", "q=alice", f"subject_type=job&subject_id={job.pk}", "actor=alice"):
        assert "job.create" in harmless_page(client, f"{address}?{query}")
    assert "job.create" not in harmless_page(client, f"{address}?q=job.creat")
    queries = asked(partial(harmless_page, client, f"{address}?q={job.pk}"), "audit_entries")
    assert queries
    assert not [query for query in queries if COUNTING.search(query)]


def test_a_list_counts_no_further_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncova_project.admin_pages.lists.MOST_COUNTED", 2)
    for _ in range(4):
        make_repository()
    page = harmless_page(operator(), "/admin/repositories/repository/")
    assert re.search(r"\s2\s+repositories\s", page)


def test_backups_are_found_by_their_ids() -> None:
    repository = make_repository()
    first, second = make_backup(repository), make_backup(repository)
    client, address = operator(), "/admin/repositories/backup/"
    for word in (first.backup_id, first.manifest_id):
        page = harmless_page(client, f"{address}?q={word}")
        assert f"/{first.pk}/change/" in page
        assert f"/{second.pk}/change/" not in page
