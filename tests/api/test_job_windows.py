"""Windows in the body of a new job: made with it in one transaction, judged with its objective (7.1, B9, B10)."""

from typing import Any

import pytest

from jobs.models import Job, Window
from syncova_project.access.models import AuditEntry
from tests.api.builders import job_body
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
NOON = {"name": "noon", "type": "allowed", "start": "12:00", "length_seconds": 3600}
OFFICE = {"name": "office", "type": "blackout", "start": "08:00", "length_seconds": 36000, "time_zone": "UTC"}


def asked(*windows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return job_body(make_repository(), **fields) | {"windows": list(windows)}


def test_windows_are_made_with_their_job_and_shown_with_it() -> None:
    client = ApiClient()
    answer = client.post("jobs", asked(NOON, OFFICE))
    assert (answer.status, [one["name"] for one in answer.json["windows"]]) == (201, ["noon", "office"])
    assert {one["job_id"] for one in answer.json["windows"]} == {answer.json["id"]}
    shown = client.get(f"jobs/{answer.json['id']}").json
    assert shown["windows"] == answer.json["windows"]
    assert shown["next_start_window"]["name"] == "noon"
    listed = client.get("jobs").json["jobs"][0]
    assert listed["next_start_at"] == shown["next_start_at"]
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"job.create", "window.create"} <= actions


@pytest.mark.parametrize(
    ("windows", "field"),
    [
        ([NOON, {**OFFICE, "time_zone": "Mars/North"}], "windows.1.time_zone"),
        ([{**OFFICE, "length_seconds": 0}], "windows.0.length_seconds"),
        ([{**OFFICE, "name": " "}], "windows.0.name"),
        ([{**OFFICE, "job_id": None}], "windows.0.job_id"),
        ([{"name": "x", "type": "blackout"}], "windows.0.start"),
        ("all", "windows"),
    ],
)
def test_a_window_that_is_refused_makes_no_job(windows: Any, field: str) -> None:
    body = job_body(make_repository()) | {"windows": windows}
    error = ApiClient().post("jobs", body).refused(400, "VALIDATION_FAILED")
    assert field in error["details"]
    judged = ApiClient().post("jobs/validate", body).json
    assert (judged["valid"], field in judged["errors"]) == (False, True)
    assert (Job.objects.count(), Window.objects.count()) == (0, 0)


def test_an_objective_that_the_jobs_own_windows_break_is_refused() -> None:
    """B10: saying both figures, and nothing is made."""
    week = {"name": "closed", "type": "blackout", "start": "00:00", "days": ["mon"], "length_seconds": 6 * 86400}
    error = ApiClient().post("jobs", asked(week, rpo_seconds=93600)).refused(400, "VALIDATION_FAILED")
    assert "rpo_seconds" in error["details"]
    assert (Job.objects.count(), Window.objects.count()) == (0, 0)
    assert ApiClient().post("jobs", asked(week)).status == 201


def test_windows_need_their_right() -> None:
    client = ApiClient("jobs.write")
    client.post("jobs", asked(OFFICE)).refused(403, "PERMISSION_DENIED")
    assert Job.objects.count() == 0
    assert client.post("jobs", asked()).status == 201


def test_a_name_that_is_taken_makes_no_job() -> None:
    client = ApiClient()
    assert client.post("windows", OFFICE).status == 201
    client.post("jobs", asked(OFFICE)).refused(409, "WINDOW_NAME_TAKEN")
    assert Job.objects.count() == 0


def test_windows_of_a_job_changed_at_their_own_address_are_a_revision_of_it() -> None:
    """Whose windows they are, that job is another one then: its tag says so, and its past tells it."""
    client = ApiClient()
    job, other = (client.post("jobs", asked(*one, name=name)).json for name, one in (("a", [OFFICE]), ("b", [])))
    address = f"windows/{job['windows'][0]['id']}"
    moved = {**OFFICE, "start": "09:00", "job_id": job["id"]}
    for _ in range(2):
        assert client.request("PUT", address, moved).json["start"] == "09:00"
        assert client.get(f"jobs/{job['id']}").json["revision"] == 2
    client.request("PUT", address, {**moved, "job_id": other["id"]})
    client.delete(address)
    assert [client.get(f"jobs/{one['id']}").json["revision"] for one in (job, other)] == [3, 3]
    told = client.get(f"jobs/{job['id']}/revisions").json["revisions"]
    assert [one["changed"] for one in told] == [["windows"], ["windows"], []]
    assert [[one["start"] for one in each["job"]["windows"]] for each in told] == [[], ["09:00"], ["08:00"]]


SATURDAY = {"name": "wk", "type": "blackout", "days": ["sat"], "start": "00:00", "length_seconds": 172800}


def judged(body: dict[str, Any]) -> Any:
    return ApiClient().post("jobs/validate", body).json["errors"]


@pytest.mark.parametrize(
    ("schedules", "windows", "seconds", "broken"),
    [
        (["0 12 * * *"], [SATURDAY], 86400, True),
        (["0 12 * * *"], [SATURDAY], 2 * 86400 + 43200, False),
        # Without the window these are fourteen hours apart.
        (["0 0,10 * * *"], [{**OFFICE, "start": "10:00", "length_seconds": 7200}], 43200, False),
        (["0 12 * * *"], [{**SATURDAY, "kinds": ["prune"]}], 86400, False),
    ],
)
def test_judging_and_making_take_the_jobs_own_windows_alike(
    schedules: list[str], windows: list[dict[str, Any]], seconds: int, broken: bool
) -> None:
    """B9, B10, 7.1: one function says whether an objective is kept with the windows that come with the job."""
    body = asked(*windows, rpo_seconds=seconds)
    del body["schedule"]
    body["schedules"] = [{"type": "cron", "expression": one} for one in schedules]
    errors, answer = judged(body), ApiClient().post("jobs", body)
    assert (list(errors), answer.status) == ((["rpo_seconds"], 400) if broken else ([], 201))
    if broken:
        assert errors == answer.json["error"]["details"]
        assert "2 days 12 hours" in errors["rpo_seconds"][0]


def test_a_windows_name_that_is_taken_is_told_before() -> None:
    client = ApiClient()
    assert client.post("jobs", asked(NOON)).status == 201
    for body in (asked({**NOON, "name": "NOON"}, name="b"), asked(OFFICE, {**OFFICE, "name": "Office"}, name="c")):
        ((field, (sentence,)),) = judged(body).items()
        assert field == f"windows.{len(body['windows']) - 1}.name"
        assert sentence == client.post("jobs", body).refused(409, "WINDOW_NAME_TAKEN")["message"]
