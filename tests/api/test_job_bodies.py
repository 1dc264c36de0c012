"""What a job may be made of: bodies that work, bodies that are refused, bytes and names of any kind (E1, E3, E7)."""

import base64
import datetime as dt
from typing import Any

import pytest

from jobs.database_time import database_now
from jobs.models import Job
from jobs.services import SourceInput
from repositories.freezing import repository_freeze
from tests.api.admin_pages import HOSTILE
from tests.api.builders import NOBODY, job_body, make_job
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ({"type": "interval", "every_seconds": 21600}, "every 6 hours"),
        ({"type": "hourly", "minute": 30}, "hourly at minute 30 (UTC)"),
        (
            {"type": "weekly", "days": ["sat", "sun"], "time": "22:00", "time_zone": "Europe/Berlin"},
            "weekly on Saturday and Sunday at 22:00 (Europe/Berlin)",
        ),
        (
            {"type": "monthly", "days": [1, -1], "time": "02:00", "time_zone": "Europe/Berlin"},
            "monthly on day 1 and the last day at 02:00 (Europe/Berlin)",
        ),
        (
            {"type": "cron", "expression": "*/15 9-17 * * mon-fri", "time_zone": "Europe/Berlin"},
            "every 15 minutes from 09:00 to 17:59 on Monday to Friday (Europe/Berlin)",
        ),
    ],
)
def test_every_kind_is_planned_and_comes_back_as_it_was_sent(schedule: dict[str, Any], sentence: str) -> None:
    """B1, B6, E3."""
    answer = ApiClient().post("jobs", job_body(make_repository(), schedule=schedule))
    assert answer.status == 201, answer.json
    (planned,) = answer.json["schedules"]
    assert planned.items() >= (schedule | {"description": sentence}).items()
    assert dt.datetime.fromisoformat(planned["next_run_at"]) > database_now()


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
        ({"sources": [{"type": "filesystem", "path_base64": "ç"}]}, 400, "VALIDATION_FAILED", "sources.0.path_base64"),
        ({"sources": [{"type": "proxmox_vm", "id": "qemu/100"}]}, 400, "SOURCE_TYPE_NOT_AVAILABLE", "sources.0.type"),
        ({"sources": [{"type": "filesystem", "id": "/a", "x": 1}]}, 400, "VALIDATION_FAILED", "sources.0.x"),
        ({"schedule": {"type": "daily"}}, 400, "VALIDATION_FAILED", "schedules.0.time"),
        ({"schedule": {"type": "sometimes"}}, 400, "VALIDATION_FAILED", "schedules.0.type"),
        ({"schedule": {"type": "daily", "time": "02:00", "time_zone": "Mars"}}, 400, "VALIDATION_FAILED", None),
        ({"schedule": {"type": "daily", "time": "02:00", "time_zone": "\ud800"}}, 400, "VALIDATION_FAILED", None),
        ({"schedule": {"type": "daily", "time": "02:00", "\udfff": 1}}, 400, "VALIDATION_FAILED", None),
        (
            {"schedule": {"type": "cron", "expression": "0 0 30 2 *"}},
            400,
            "VALIDATION_FAILED",
            "schedules.0.expression",
        ),
        ({"schedule": {"type": "weekly", "days": [], "time": "02:00"}}, 400, "VALIDATION_FAILED", "schedules.0.days"),
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


def test_hostile_names_come_back_as_they_were_sent_and_errors_show_them_harmless() -> None:
    client, repository = ApiClient(), make_repository(name=HOSTILE)
    body = job_body(repository, sources=[{"type": "filesystem", "id": "/srv/" + HOSTILE}])
    answer = client.post("jobs", body)
    assert (answer.status, answer.json["repository"]["name"]) == (201, HOSTILE)
    # A name from before names were judged.
    Job.objects.update(name=HOSTILE)
    assert client.get(f"jobs/{answer.json['id']}").json["name"] == HOSTILE
    assert base64.b64decode(answer.json["sources"][0]["path_base64"]).decode() == "/srv/" + HOSTILE
    job_id = answer.json["id"]
    client.post(f"jobs/{job_id}/pause")
    error = client.post(f"jobs/{job_id}/run").refused(409, "JOB_PAUSED")
    assert not any(character in error["message"] for character in "\x1b\u202e\n\x9b")


def test_a_source_of_two_jobs_is_one_source() -> None:
    repository = make_repository()
    sources = [SourceInput(path=b"/srv/shared")]
    ids = {make_job(repository, sources=sources).job_sources.get().source_id for _ in range(2)}
    assert len(ids) == 1
