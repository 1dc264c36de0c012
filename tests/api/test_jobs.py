"""Jobs over HTTP: made, listed, shown, paused, resumed, run, deleted (E1-E5, D3)."""

import base64
import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.database_time import database_now
from jobs.models import Job, Run
from jobs.services import SourceInput, job_pause
from repositories.services import repository_freeze
from syncova_project.access.models import AuditEntry
from syncova_project.access.scopes import ALL_SCOPES
from tests.api.admin_pages import HOSTILE
from tests.api.builders import job_body, make_job, make_run, start
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
NOBODY = "01900000-0000-7000-8000-000000000000"


def test_the_body_of_the_source_works_as_written_there() -> None:
    """E1, E3: the sentence and the next instant come with the answer."""
    repository = make_repository(name="vault")
    body = job_body(repository, priority="high", bandwidth_limit_bps=52428800)
    answer = ApiClient().post("jobs", body)
    assert answer.status == 201, answer.json
    job = Job.objects.get()
    assert answer.headers["Location"] == f"/api/v1/jobs/{job.id}"
    shown = answer.json
    assert shown["schedule_description"] == "daily at 02:00 (Europe/Berlin)"
    assert dt.datetime.fromisoformat(shown["next_run_at"]) > database_now()
    assert shown["repository"] == {"id": str(repository.id), "name": "vault"}
    assert (shown["priority"], shown["bandwidth_limit_bps"], shown["status"]) == ("high", 52428800, "active")
    (source,) = shown["sources"]
    assert source.items() >= {"type": "filesystem", "path": "/srv/data", "exclude_patterns": ["*.tmp"]}.items()
    assert "path_base64" not in source
    assert ApiClient().get(f"jobs/{job.id}").json == shown


@pytest.mark.parametrize("name", [b"/srv/\xff\xfe", b"/srv/a\\b", b"/srv/a\x1b[31m", "/srv/\u202e".encode()])
def test_a_path_of_any_bytes_goes_in_and_comes_out_exactly(name: bytes) -> None:
    exact = base64.b64encode(name).decode()
    sources = [{"type": "filesystem", "path_base64": exact}]
    answer = ApiClient().post("jobs", job_body(make_repository(), sources=sources))
    (source,) = answer.json["sources"]
    assert source["path_base64"] == exact
    assert source["path"].isprintable()
    again = [{"type": "filesystem", "path": source["path"], "path_base64": source["path_base64"]}]
    copied = ApiClient().post("jobs", job_body(make_repository(), name="copy", sources=again))
    assert copied.json["sources"][0]["id"] == source["id"]


@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"name": ""}, 400, "VALIDATION_FAILED", "name"),
        ({"name": "n" * 201}, 400, "VALIDATION_FAILED", "name"),
        ({"name": "TAKEN"}, 409, "JOB_NAME_TAKEN", None),
        ({"nmae": "x"}, 400, "VALIDATION_FAILED", "nmae"),
        ({"priority": "urgent"}, 400, "VALIDATION_FAILED", "priority"),
        ({"bandwidth_limit_bps": 0}, 400, "VALIDATION_FAILED", "bandwidth_limit_bps"),
        ({"bandwidth_limit_bps": 2**80}, 400, "VALIDATION_FAILED", "bandwidth_limit_bps"),
        ({"max_attempts": 11}, 400, "VALIDATION_FAILED", "max_attempts"),
        ({"sources": []}, 400, "VALIDATION_FAILED", "sources"),
        ({"sources": "x"}, 400, "VALIDATION_FAILED", "sources"),
        ({"sources": [{"type": "filesystem"}]}, 400, "VALIDATION_FAILED", "sources.0.path"),
        ({"sources": [{"type": "filesystem", "id": "/a", "path": "/a"}]}, 400, "VALIDATION_FAILED", "sources.0.path"),
        ({"sources": [{"type": "filesystem", "id": "relative"}]}, 400, "VALIDATION_FAILED", "sources.0.path"),
        ({"sources": [{"type": "filesystem", "id": "/a\0"}]}, 400, "VALIDATION_FAILED", "sources.0.id"),
        ({"sources": [{"type": "filesystem", "id": "/\ud800"}]}, 400, "VALIDATION_FAILED", "sources.0.id"),
        ({"sources": [{"type": "filesystem", "path_base64": "!"}]}, 400, "VALIDATION_FAILED", "sources.0.path_base64"),
        ({"sources": [{"type": "proxmox_vm", "id": "qemu/100"}]}, 400, "SOURCE_TYPE_NOT_AVAILABLE", "sources"),
        ({"sources": [{"type": "filesystem", "id": "/a", "x": 1}]}, 400, "VALIDATION_FAILED", "sources.0.x"),
        ({"schedule": {"type": "daily"}}, 400, "VALIDATION_FAILED", "schedules.0.time"),
        ({"schedule": {"type": "sometimes"}}, 400, "VALIDATION_FAILED", "schedules.0.type"),
        ({"schedule": {"type": "daily", "time": "02:00", "time_zone": "Mars"}}, 400, "VALIDATION_FAILED", None),
        ({"schedule": {"type": "daily", "time": "02:00", "time_zone": "\ud800"}}, 400, "VALIDATION_FAILED", None),
        ({"schedule": {"type": "daily", "time": "02:00", "\udfff": 1}}, 400, "VALIDATION_FAILED", None),
        ({"schedule": 7}, 400, "VALIDATION_FAILED", "schedule"),
        ({"schedules": [{"type": "manual"}]}, 400, "VALIDATION_FAILED", "schedule"),
        ({"repository_id": "x"}, 400, "VALIDATION_FAILED", "repository_id"),
        ({"repository_id": NOBODY}, 400, "VALIDATION_FAILED", "repository_id"),
        ({"rpo_seconds": 14400}, 400, "VALIDATION_FAILED", "rpo_seconds"),
    ],
)
def test_what_no_job_can_be(change: dict[str, Any], status: int, code: str, field: str | None) -> None:
    repository = make_repository()
    make_job(repository, name="taken")
    error = ApiClient().post("jobs", job_body(repository, **change)).refused(status, code)
    assert field is None or field in error["details"], error
    assert Job.objects.count() == 1


def test_the_control_planes_own_data_is_no_source(settings: Any) -> None:
    source = [{"type": "filesystem", "id": f"{settings.DATA_DIR}/secrets"}]
    error = ApiClient().post("jobs", job_body(make_repository(), sources=source)).refused(400, "SOURCE_NOT_ALLOWED")
    assert set(error["details"]) == {"sources.0.path"}


def test_a_repository_that_takes_no_backups_gets_no_job() -> None:
    """E7."""
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="lost data", now=database_now())
    error = ApiClient().post("jobs", job_body(repository)).refused(409, "REPOSITORY_NOT_READY")
    assert "lost data" in error["message"]


def test_a_job_without_a_schedule_runs_by_hand() -> None:
    body = job_body(make_repository())
    del body["schedule"]
    answer = ApiClient().post("jobs", body)
    assert (answer.json["next_run_at"], answer.json["schedule_description"]) == (None, "only by hand")


def test_the_same_key_makes_one_job() -> None:
    """E5."""
    client, body = ApiClient(), job_body(make_repository())
    first = client.post("jobs", body, **{"Idempotency-Key": "k"})
    again = client.post("jobs", body, **{"Idempotency-Key": "k"})
    assert (first.status, again.status, again.json) == (201, 201, first.json)
    assert Job.objects.count() == 1
    client.post("jobs", body | {"name": "b"}, **{"Idempotency-Key": "k"}).refused(409, "IDEMPOTENCY_KEY_REUSED")


def test_pausing_and_resuming_plan_anew() -> None:
    """E3: a job paused for a week does not fire at once."""
    week = dt.timedelta(days=8)
    job = make_job(now=database_now() - week)
    job_pause(job_id=job.id, actor="alice", now=database_now() - week + dt.timedelta(hours=1))
    paused = ApiClient().get(f"jobs/{job.id}").json
    assert (paused["status"], paused["next_run_at"]) == ("paused", None)
    resumed = ApiClient().post(f"jobs/{job.id}/resume")
    assert resumed.status == 200
    assert dt.datetime.fromisoformat(resumed.json["next_run_at"]) > database_now()


def test_running_answers_202_and_a_second_time_409_with_the_run() -> None:
    """E2."""
    job, client = make_job(), ApiClient()
    answer = client.post(f"jobs/{job.id}/run")
    assert answer.status == 202
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/api/v1/runs/{run.id}"
    assert (answer.json["state"], answer.json["phase"], answer.json["trigger"]) == ("queued", "waiting", "manual")
    error = client.post(f"jobs/{job.id}/run").refused(409, "JOB_ACTIVE")
    assert error["details"]["run_id"] == str(run.id)
    assert client.get(f"jobs/{job.id}").json["active_run"]["id"] == str(run.id)


def test_running_with_one_key_is_one_run() -> None:
    """E5: the same key for another job is refused."""
    job, client, key = make_job(), ApiClient(), {"Idempotency-Key": "k"}
    first = client.post(f"jobs/{job.id}/run", **key)
    again = client.post(f"jobs/{job.id}/run", **key)
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    client.post(f"jobs/{make_job().id}/run", **key).refused(409, "IDEMPOTENCY_KEY_REUSED")
    assert Run.objects.count() == 1


def test_a_paused_job_is_not_run_behind_the_operators_back() -> None:
    """E2."""
    job, client = make_job(), ApiClient()
    assert client.post(f"jobs/{job.id}/pause").json["status"] == "paused"
    assert client.post(f"jobs/{job.id}/pause").status == 200
    client.post(f"jobs/{job.id}/run").refused(409, "JOB_PAUSED")
    assert not Run.objects.exists()


def test_a_deleted_job_is_gone_and_its_runs_stay() -> None:
    """D3."""
    job, client = make_job(), ApiClient()
    run = make_run(job)
    deleted = client.delete(f"jobs/{job.id}")
    assert (deleted.status, deleted.json) == (204, None)
    for refused in (client.get(f"jobs/{job.id}"), client.delete(f"jobs/{job.id}"), client.post(f"jobs/{job.id}/run")):
        refused.refused(404, "JOB_NOT_FOUND")
    shown = client.get(f"runs/{run.id}")
    assert (shown.json["state"], shown.json["job"]["id"]) == ("cancelled", str(job.id))
    assert client.get("jobs").json["jobs"] == []


def test_every_change_is_audited_in_its_transaction() -> None:
    """E3."""
    client = ApiClient()
    job_id = client.post("jobs", job_body(make_repository())).json["id"]
    client.post(f"jobs/{job_id}/pause")
    client.post(f"jobs/{job_id}/resume")
    run_id = client.post(f"jobs/{job_id}/run").json["id"]
    client.post(f"runs/{run_id}/cancel")
    client.delete(f"jobs/{job_id}")
    entries = AuditEntry.objects.exclude(subject_type="token").order_by("id").values_list("action", "subject_id")
    assert list(entries) == [
        ("job.create", job_id),
        ("job.pause", job_id),
        ("job.resume", job_id),
        ("run.request", run_id),
        ("run.cancel", run_id),
        ("job.delete", job_id),
    ]
    actors = AuditEntry.objects.exclude(subject_type="token").values_list("actor", flat=True).distinct()
    assert all(actor.startswith("token:tester (") for actor in actors)


def test_filters_narrow_the_list() -> None:
    one, two = make_repository(), make_repository()
    first = make_job(one, name="Alpha", priority="high")
    second = make_job(two, name="beta 100%")
    job_pause(job_id=second.id, actor="alice", now=database_now())

    def found(query: str) -> list[str]:
        return [job["name"] for job in ApiClient().get(f"jobs?{query}").json["jobs"]]

    assert found("") == ["Alpha", "beta 100%"]
    assert found("ordering=-name") == ["beta 100%", "Alpha"]
    assert found("ordering=created_at") == ["Alpha", "beta 100%"]
    assert found("status=paused") == ["beta 100%"]
    assert found("status=active") == ["Alpha"]
    assert found(f"repository={one.id}") == ["Alpha"]
    assert found("priority=high") == [first.name]
    assert found("search=ALPH") == ["Alpha"]
    assert found("search=100%25") == ["beta 100%"]
    assert found("search=_") == []
    assert found("last_state=failed") == []
    for query in ("status=x", "repository=x", "ordering=password", "limit=0", "limit=1000", "page=2", "search=%00"):
        ApiClient().get(f"jobs?{query}").refused(400, "VALIDATION_FAILED")


def test_a_list_costs_the_same_number_of_queries_for_any_length() -> None:
    client, repository = ApiClient(), make_repository()
    costs = []
    for _ in range(2):
        for _ in range(3):
            make_run(make_job(repository))
        Run.objects.update(held_code="repository_limit", held_subject="x", held_since=database_now())
        client.get("jobs")
        with CaptureQueriesContext(connection) as queries:
            assert all(job["active_run"]["held"]["sentence"] for job in client.get("jobs").json["jobs"])
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 8


def test_hostile_names_come_back_as_they_were_sent_and_errors_show_them_harmless() -> None:
    client, repository = ApiClient(), make_repository(name=HOSTILE)
    body = job_body(repository, name=HOSTILE, sources=[{"type": "filesystem", "id": "/srv/" + HOSTILE}])
    answer = client.post("jobs", body)
    assert (answer.status, answer.json["name"]) == (201, HOSTILE)
    assert base64.b64decode(answer.json["sources"][0]["path_base64"]).decode() == "/srv/" + HOSTILE
    job_id = answer.json["id"]
    client.post(f"jobs/{job_id}/pause")
    for error in (
        client.post("jobs", body).refused(409, "JOB_NAME_TAKEN"),
        client.post(f"jobs/{job_id}/run").refused(409, "JOB_PAUSED"),
    ):
        assert not any(character in error["message"] for character in "\x1b\u202e\n\x9b")


def test_a_source_of_two_jobs_is_one_source() -> None:
    repository = make_repository()
    sources = [SourceInput(path=b"/srv/shared")]
    ids = {make_job(repository, sources=sources).job_sources.get().source_id for _ in range(2)}
    assert len(ids) == 1


def test_what_waits_says_why() -> None:
    """C3."""
    run = make_run()
    Run.objects.filter(id=run.id).update(held_code="no_worker", held_subject="default", held_since=database_now())
    held = ApiClient().get(f"jobs/{run.job_id}").json["active_run"]["held"]
    assert (held["code"], held["subject"]) == ("no_worker", "default")
    assert held["sentence"] == "Waits for a worker of the group default: none is there."


def test_a_running_job_is_shown_as_such() -> None:
    run = make_run()
    start(run)
    active = ApiClient().get(f"jobs/{run.job_id}").json["active_run"]
    assert (active["phase"], active["held"]) == ("running", None)


ENDPOINTS = [
    ("GET", "jobs", {"jobs.read"}),
    ("POST", "jobs", {"jobs.write"}),
    ("GET", f"jobs/{NOBODY}", {"jobs.read"}),
    ("DELETE", f"jobs/{NOBODY}", {"jobs.write"}),
    ("POST", f"jobs/{NOBODY}/pause", {"jobs.run"}),
    ("POST", f"jobs/{NOBODY}/resume", {"jobs.run"}),
    ("POST", f"jobs/{NOBODY}/run", {"jobs.run"}),
    ("GET", f"jobs/{NOBODY}/runs", {"jobs.read", "runs.read"}),
    ("GET", "runs", {"jobs.read", "runs.read"}),
    ("GET", f"runs/{NOBODY}", {"jobs.read", "runs.read"}),
    ("POST", f"runs/{NOBODY}/cancel", {"jobs.run"}),
    ("POST", f"backup-runs/{NOBODY}/cancel", {"jobs.run"}),
    ("GET", f"runs/{NOBODY}/events", {"jobs.read", "runs.read"}),
    ("GET", f"runs/{NOBODY}/log", {"jobs.read", "runs.read"}),
]


@pytest.mark.parametrize(("method", "address", "rights"), ENDPOINTS)
def test_each_endpoint_asks_for_its_right(method: str, address: str, rights: set[str]) -> None:
    """E1."""
    ApiClient(token="").request(method, address).refused(401, "UNAUTHENTICATED")
    others = [scope for scope in ALL_SCOPES if scope not in rights]
    ApiClient(*others).request(method, address).refused(403, "PERMISSION_DENIED")
    for right in rights:
        assert ApiClient(right).request(method, address).status in {200, 400, 404}
    ApiClient().request("PATCH", address, {}).refused(405, "METHOD_NOT_ALLOWED")
