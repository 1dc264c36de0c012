"""Jobs over HTTP: listed, filtered, shown, paused, resumed, run, deleted, made once per key (E1-E5, D3)."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.database_time import database_now
from jobs.models import Job, Run
from jobs.services import job_pause
from syncova_project.access.models import AuditEntry
from tests.api.builders import NOBODY, job_body, make_job, make_run, start
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


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


def test_a_run_may_confirm_what_its_sources_hold_now() -> None:
    """2.6, E5: told of the run ever after; the same key with another body is another request."""
    job, client, key = make_job(), ApiClient(), {"Idempotency-Key": "k"}
    first = client.post(f"jobs/{job.id}/run", {"accept_new_root": True}, **key)
    again = client.post(f"jobs/{job.id}/run", {"accept_new_root": True}, **key)
    assert (first.status, first.json["accept_new_root"], again.json["id"]) == (202, True, first.json["id"])
    client.post(f"jobs/{job.id}/run", {"accept_new_root": False}, **key).refused(409, "IDEMPOTENCY_KEY_REUSED")
    (shown,) = client.get(f"jobs/{job.id}/runs").json["runs"]
    assert shown["accept_new_root"] is True
    event = client.get(f"runs/{first.json['id']}/events").json["events"][0]
    assert event["parameters"] == {"trigger": "manual", "accept_new_root": True}
    plain = client.post(f"jobs/{make_job().id}/run", {})
    assert plain.json["accept_new_root"] is False
    client.post(f"jobs/{make_job().id}/run", {"accept_new_root": "perhaps"}).refused(400, "VALIDATION_FAILED")
    client.post(f"jobs/{make_job().id}/run", {"accept": True}).refused(400, "VALIDATION_FAILED")


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
        error = refused.refused(404, "JOB_NOT_FOUND")
        assert error["message"].startswith(f"The job {job.name} was deleted at 20")
        assert f"run list --job {job.id}" in error["hint"]
    (listed,) = client.get(f"jobs/{job.id}/runs").json["runs"]
    assert listed["id"] == str(run.id)
    client.get(f"jobs/{NOBODY}/runs").refused(404, "JOB_NOT_FOUND")
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
    assert costs[0] == costs[1] <= 9


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
