"""GET /audit: the trail by actor, action, subject and time, in pages, each from its index (7.10)."""

import datetime as dt
from functools import partial
from typing import Any

import pytest
from django.db import connection

from jobs.models import JobRevision
from repositories.freezing import repository_freeze
from repositories.models import RepositoryFreeze
from syncova_project.access.models import AuditEntry
from syncova_project.access.services import audit_record
from syncova_project.instants import instant
from tests.api.builders import job_body
from tests.api.client import ApiClient
from tests.jobs.builders import make_job
from tests.repositories.builders import make_repository

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)
pytestmark = pytest.mark.django_db


def record(minute: int, **fields: Any) -> AuditEntry:
    values: dict[str, Any] = {"actor": "alice", "action": "job.pause", "subject_type": "job", "subject_id": "1"}
    return audit_record(now=NOW + dt.timedelta(minutes=minute), **(values | fields))


def three() -> None:
    record(1)
    record(2, actor="bob", action="job.run", details={"before": 1, "after": 2})
    record(3, subject_type="repository", subject_id="2")


def listed(query: str = "") -> list[str]:
    client = ApiClient("audit.read")
    entries = client.get(f"audit?{query}").json["entries"]
    return [f"{entry['at'][14:16]} {entry['actor']}" for entry in entries if entry["action"] != "token.create"]


def test_an_entry_tells_who_when_where_and_what() -> None:
    record(1, details={"before": "a", "after": "b"})
    entry = ApiClient("audit.read").get("audit?actor=alice").json["entries"][0]
    assert entry.pop("id") > 0
    assert entry == {
        "at": "2026-11-30T02:01:00Z",
        "actor": "alice",
        "action": "job.pause",
        "subject_type": "job",
        "subject_id": "1",
        "details": {"before": "a", "after": "b"},
        "request_id": "",
        "address": "",
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["03 alice", "02 bob", "01 alice"]),
        ("actor=bob", ["02 bob"]),
        ("actor=bo", []),
        ("action=job.pause", ["03 alice", "01 alice"]),
        ("subject_type=repository", ["03 alice"]),
        ("subject_type=job&subject_id=1&actor=alice", ["01 alice"]),
        ("since=2026-11-30T02:02:00Z&until=2026-11-30T02:03:00Z", ["02 bob"]),
        ("until=2026-11-30T03:02:00%2B01:00", ["01 alice"]),
    ],
)
def test_filters(query: str, found: list[str]) -> None:
    three()
    assert listed(query) == found


@pytest.mark.parametrize(
    ("query", "field"),
    [("subject_id=1", "subject_type"), ("since=soon", "since"), ("what=x", "what"), ("limit=0", "limit")],
)
def test_what_cannot_be_asked_is_named(query: str, field: str) -> None:
    assert field in ApiClient("audit.read").get(f"audit?{query}").refused(400, "VALIDATION_FAILED")["details"]


def test_pages_hold_each_entry_once_also_of_one_moment() -> None:
    made = [record(1).pk for _ in range(5)]
    client, seen, cursor = ApiClient("audit.read"), [], ""
    while cursor is not None:
        page = client.get(f"audit?actor=alice&limit=2&cursor={cursor}").json
        seen += [entry["id"] for entry in page["entries"]]
        cursor = page["next_cursor"]
    assert seen == made[::-1]


def test_the_trail_has_a_right_of_its_own() -> None:
    ApiClient("jobs.read", "jobs.write", "repositories.write").get("audit").refused(403, "PERMISSION_DENIED")
    ApiClient(token="").get("audit").refused(401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("", "audit_entries_by_time"),
        ("since=2026-11-30T02:00:00Z&until=2026-11-30T02:02:00Z", "audit_entries_by_time"),
        ("actor=alice", "audit_entries_by_actor"),
        ("action=job.pause", "audit_entries_by_action"),
        ("subject_type=job&subject_id=1", "audit_entries_of_subject"),
    ],
)
def test_each_page_begins_in_its_index(query: str, index: str) -> None:
    for number in range(3):
        record(number)
    others()
    client = ApiClient("audit.read")
    cursor = client.get(f"audit?limit=1&{query}").json["next_cursor"]
    for page in (f"audit?limit=1&{query}", f"audit?limit=1&{query}&cursor={cursor}"):
        (plan,) = plans(partial(client.get, page))
        assert f"using {index} on audit_entries" in plan
        assert "Sort" not in plan


def others() -> None:
    """Make so many other entries that a wrong index would have to read them, and let the database know."""
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=NOW + dt.timedelta(minutes=1, seconds=number),
            actor=f"other {number}",
            action=f"other.{number}",
            subject_type="run",
            subject_id=str(number),
        )
        for number in range(600)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE audit_entries")


def plans(work: Any) -> list[str]:
    """Return the plans of the lists that `work` reads, without those that only small tables get."""
    found: list[str] = []

    def keep(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        if sql.startswith("SELECT") and 'FROM "audit_entries"' in sql:
            found.append(context["cursor"].mogrify(sql, params).decode())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        work()
    with connection.cursor() as cursor:
        for name in ("seqscan", "sort", "bitmapscan"):
            cursor.execute(f"SET LOCAL enable_{name} = off")
        for at, query in enumerate(found):
            cursor.execute(f"EXPLAIN {query}")
            found[at] = "\n".join(row[0] for row in cursor.fetchall())
    return found


def test_a_job_is_told_whole_when_it_is_made_and_when_it_goes() -> None:
    """Sources, schedules and repository before and after, as a change tells them; long lists by their revision."""
    client = ApiClient()
    many = [{"type": "filesystem", "id": f"/srv/{number:0100}"} for number in range(200)]
    for sources in (None, many):
        body = job_body(make_repository()) | {"name": f"job {sources is many}"}
        job = client.post("jobs", body | ({"sources": sources} if sources else {})).json["id"]
        assert client.delete(f"jobs/{job}").status == 204
        made, gone = (
            AuditEntry.objects.get(action=f"job.{verb}", subject_id=job).details for verb in ("create", "delete")
        )
        kept = JobRevision.objects.get(job_id=job).snapshot
        if sources is many:
            assert made["after"].pop("sources") == gone["before"].pop("sources") == {"in_revision": 1}
            kept.pop("sources")
        assert made == {"name": body["name"], "after": kept}
        assert gone == {"name": body["name"], "before": kept}


def test_pauses_and_ends_of_freezes_tell_what_was_before() -> None:
    job, client = make_job(), ApiClient()
    client.post(f"jobs/{job.id}/pause")
    paused = client.get(f"jobs/{job.id}").json["paused_at"]
    client.post(f"jobs/{job.id}/resume")
    repository_freeze(repository_id=job.repository_id, reason="3 chunks are lost", actor="system", now=NOW)
    freeze = RepositoryFreeze.objects.get()
    client.post(f"repositories/{job.repository_id}/unfreeze")
    rows = {row["action"]: row["details"] for row in client.get("audit").json["entries"]}
    none, since = {"paused_at": None}, {"paused_at": paused}
    assert rows["job.pause"] == {"name": job.name, "before": none, "after": since}
    assert rows["job.resume"] == {"name": job.name, "before": since, "after": none}
    told = {"id": freeze.pk, "reason": "3 chunks are lost", "run": None, "frozen_by": "system"}
    assert rows["repository.unfreeze"] == {"closed": 1, "freezes": [{**told, "frozen_at": instant(NOW)}]}
