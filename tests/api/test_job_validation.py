"""A body of a job judged before it is saved: all errors at once, and exactly those that saving would meet (7.1)."""

from typing import Any

import pytest

from jobs.models import Job, Runner, Source
from repositories.freezing import repository_freeze
from syncova_project.access.models import AuditEntry
from tests.api.builders import BERLIN, NOBODY, job_body, make_job
from tests.api.client import ApiClient
from tests.repositories.builders import NOW, make_repository

pytestmark = pytest.mark.django_db


def judged(body: Any) -> dict[str, Any]:
    answer = ApiClient().post("jobs/validate", body)
    assert answer.status == 200, answer.json
    assert answer.json["valid"] == (not answer.json["errors"])
    errors: dict[str, Any] = answer.json["errors"]
    return errors


def test_what_can_be_saved_is_valid_and_nothing_is_saved() -> None:
    repository = make_repository(worker_group="archive")
    assert judged(job_body(repository, rpo_seconds=90000)) == {}
    assert [model.objects.count() for model in (Job, Source, Runner)] == [0, 0, 0]
    assert not AuditEntry.objects.exclude(subject_type="token").exists()
    assert ApiClient().post("jobs", job_body(repository, rpo_seconds=90000)).status == 201


def test_all_errors_come_at_once_each_with_its_field() -> None:
    make_job(name="taken")
    body = {
        "nmae": 1,
        "name": "TAKEN",
        "repository_id": str(make_repository(location="/srv/vault").id),
        "sources": [
            {"type": "filesystem", "id": "relative"},
            {"type": "filesystem", "id": "/srv/vault/packs"},
            {"type": "filesystem", "id": "/a"},
            {"type": "filesystem", "id": "/a", "exclude_patterns": ["ok", "a[b"]},
        ],
        "schedules": [BERLIN, {"type": "daily", "time": "25:00"}, {"type": "cron", "expression": "0 0 30 2 *"}],
        "hooks": [{"moment": "before_job", "name": "fine"}, {"moment": "before_job", "name": "not fine"}],
        "depends_on": [NOBODY],
        "priority": "urgent",
        "max_attempts": 0,
    }
    errors = judged(body)
    assert set(errors) == {
        "nmae",
        "name",
        "sources.0.path",
        "sources.1.path",
        "sources.3.path",
        "sources.3.exclude_patterns.1",
        "schedules.1.time",
        "schedules.2.expression",
        "hooks.1.name",
        "depends_on.0",
        "priority",
        "max_attempts",
    }
    assert all(isinstance(one, str) for sentences in errors.values() for one in sentences)
    assert "taken" in errors["name"][0]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sources": [{"type": "filesystem", "id": "/a"}] * 2}, "sources.1.path"),
        ({"sources": [{"type": "proxmox_vm", "id": "/qemu/1"}]}, "sources.0.type"),
        ({"depends_on": [NOBODY]}, "depends_on.0"),
        ({"sources": []}, "sources"),
        ({"repository_id": NOBODY}, "repository_id"),
        ({"rpo_seconds": 3600}, "rpo_seconds"),
        ({"schedule": 7}, "schedule"),
        ({"schedule": BERLIN, "schedules": [BERLIN]}, "schedule"),
        ({"name": None}, "name"),
        ({"bandwidth_limit_bps": 2**60}, "bandwidth_limit_bps"),
    ],
)
def test_a_single_error_is_the_one_that_saving_meets(change: dict[str, Any], field: str) -> None:
    body = job_body(make_repository()) | change
    assert list(judged(body)) == [field]
    assert ApiClient().post("jobs", body).status == 400


def test_what_is_missing_is_named() -> None:
    assert set(judged({})) == {"name", "repository_id", "sources"}
    ApiClient().post("jobs/validate", [1]).refused(400, "VALIDATION_FAILED")


def test_a_repository_that_takes_no_backups_says_why() -> None:
    """E7."""
    repository = make_repository()
    repository_freeze(repository_id=repository.id, reason="lost data", now=NOW)
    assert "lost data" in judged(job_body(repository))["repository_id"][0]


WINDOW = {"name": "taken", "type": "blackout", "start": "08:00", "length_seconds": 60}
BROKEN: dict[str, Any] = {
    "sources": [
        {"type": "mysql"},
        {"type": "filesystem", "id": "bad", "nmae": 1},
        {"type": "filesystem", "exclude_patterns": ["["]},
        7,
        {"type": "mysql", "id": "worse", "exclude_patterns": ["", "#c", 5, "fine", "["]},
        {"type": "filesystem", "id": 5},
        {"type": "filesystem", "id": "/a"},
        {"type": "filesystem", "id": "/a"},
    ],
    "hooks": [{"name": "../", "moment": "q"}, {}, {"name": "../", "moment": "before_job"}],
    "depends_on": ["x", NOBODY],
    "windows": [{"type": "q"}, {"name": "w", "type": "blackout", "days": ["mon"], "start": "25:00"}],
    "schedules": [5, {"type": "daily", "time": "25:00"}],
}
PLACES = {
    "sources.0.type",
    "sources.0.path",
    "sources.1.path",
    "sources.1.nmae",
    "sources.2.path",
    "sources.2.exclude_patterns.0",
    "sources.3",
    "sources.4.type",
    "sources.4.path",
    *(f"sources.4.exclude_patterns.{position}" for position in (0, 2, 4)),
    "sources.5.id",
    "sources.7.path",
    "hooks.0.name",
    "hooks.0.moment",
    "hooks.1.name",
    "hooks.1.moment",
    "hooks.2.name",
    "depends_on.0",
    "depends_on.1",
    "windows.0.name",
    "windows.0.type",
    "windows.0.start",
    "windows.0.length_seconds",
    "windows.1.start",
    "windows.1.length_seconds",
    "schedules.0",
    "schedules.1.time",
}


def test_each_error_has_the_place_at_which_the_body_has_it() -> None:
    """What cannot be read hides neither the rules of others, nor those that are judged with it, nor their places."""
    body = job_body(make_repository(), rpo_seconds=90000) | BROKEN
    del body["schedule"]
    assert set(judged(body)) == PLACES
    ApiClient().post("jobs", body).refused(400, "SOURCE_TYPE_NOT_AVAILABLE")


CROOKED: dict[str, Any] = {
    "schedules": [
        {"type": "weekly", "days": ["xy"], "time": "25:00", "time_zone": "Mars", "missed": "q", "timezone": "UTC"},
        {"type": "cron", "expression": "x", "time_zone": 5, "missed_within_seconds": 5},
        {"type": "interval", "every_seconds": 1, "anchor": "9000-01-01T00:00:00Z"},
        {"type": "yearly", "time_zone": "Mars"},
    ],
    "windows": [
        {"name": "a", "type": "blackout", "days": ["mon"], "start": "25:00", "length_seconds": 60, "time_zone": "Mars"},
        {"name": "TAKEN", "type": "allowed", "starts_at": "yesterday", "days": ["mon"]},
        {"type": "q", "kinds": [], "starts_at": 5, "ends_at": "tomorrow"},
        {"name": "b", "type": "blackout", "start": "24:00", "length_seconds": 0, "time_zone": "Mars"},
    ],
}
CROOKED_FIELDS = {
    *(f"schedules.0.{name}" for name in ("days", "time", "time_zone", "missed", "timezone")),
    *(f"schedules.1.{name}" for name in ("expression", "time_zone", "missed_within_seconds")),
    *(f"schedules.2.{name}" for name in ("every_seconds", "anchor")),
    *(f"schedules.3.{name}" for name in ("type", "time_zone")),
    *(f"windows.0.{name}" for name in ("start", "time_zone")),
    *(f"windows.1.{name}" for name in ("name", "starts_at", "ends_at", "days")),
    *(f"windows.2.{name}" for name in ("name", "type", "kinds", "starts_at", "ends_at")),
    *(f"windows.3.{name}" for name in ("start", "length_seconds", "time_zone")),
}


def test_all_that_is_wrong_with_a_schedule_or_a_window_comes_at_once() -> None:
    assert ApiClient().post("windows", WINDOW).status == 201
    body = job_body(make_repository()) | CROOKED
    del body["schedule"]
    errors = judged(body)
    assert set(errors) == CROOKED_FIELDS
    assert all(len(sentences) == 1 for sentences in errors.values())
    refused = ApiClient().post("jobs", body | {"windows": []}).refused(400, "VALIDATION_FAILED")
    assert set(refused["details"]) == {name for name in CROOKED_FIELDS if name.startswith("schedules.")}
    refused = ApiClient().post("windows", CROOKED["windows"][0]).refused(400, "VALIDATION_FAILED")
    assert set(refused["details"]) == {"start", "time_zone"}
