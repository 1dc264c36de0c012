"""When schedules are due, asked before and after they are saved; zones are named or left out (B4, B6)."""

import datetime as dt
from typing import Any

import pytest
from django.urls import reverse

from jobs.claims import claim_due
from jobs.database_time import database_now
from jobs.models import Run, Schedule
from tests.api.admin_pages import harmless_page, operator
from tests.api.builders import job_body, make_job, make_run
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db


def test_a_preview_begins_where_it_is_told_to() -> None:
    """B6: for a body and for a saved job, as on the command line."""
    client = ApiClient()
    daily = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}
    start = "2026-03-28T12:00:00+01:00"
    told = client.post("jobs/preview", {"schedule": daily, "from": start, "count": 2}).json
    assert [one["utc"] for one in told["instants"]] == ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
    job = make_job(schedules=[daily])
    assert client.get(f"jobs/{job.id}/preview?from=2026-03-28T11:00:00Z&count=2").json == told | {"paused": False}
    grid = {"schedule": {"type": "interval", "every_seconds": 21600}, "from": "2026-01-01T00:10:00Z", "count": 1}
    assert client.post("jobs/preview", grid).json["instants"][0]["utc"] == "2026-01-01T06:10:00Z"
    for wrong in ("2026-01-01T00:00:00", "9990-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "soon"):
        refused = client.post("jobs/preview", {"schedule": daily, "from": wrong})
        assert list(refused.refused(400, "VALIDATION_FAILED")["details"]) == ["from"]
        client.get(f"jobs/{job.id}/preview?from={wrong}").refused(400, "VALIDATION_FAILED")


def test_a_preview_without_schedules_says_that_it_runs_by_hand() -> None:
    """B6: as the job itself says it."""
    client, told = ApiClient(), {"descriptions": ["only by hand"], "instants": []}
    bodies: list[dict[str, Any]] = [{}, {"schedules": []}, {"schedule": {"type": "manual"}}]
    for body in bodies:
        assert client.post("jobs/preview", body).json == told
    by_hand = make_job(schedules=[])
    assert client.get(f"jobs/{by_hand.id}/preview").json == told | {"paused": False}
    client.post(f"jobs/{by_hand.id}/pause")
    assert client.get(f"jobs/{by_hand.id}/preview").json == told | {"paused": True}


def test_a_saved_job_whose_schedules_are_flagged_has_the_preview_of_its_body() -> None:
    """B6, B8: what windows keep from starting is shown with that, what cannot be planned with the reason."""
    client, daily = ApiClient(), {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}
    job = make_job(schedules=[daily, {"type": "hourly", "minute": 30}])
    always = {"name": "always", "type": "blackout", "start": "00:00", "length_seconds": 7 * 86400}
    window = client.post("windows", always).json
    Schedule.objects.update(next_at=database_now())
    claim_due(now=database_now())
    assert set(Schedule.objects.values_list("state", flat=True)) == {"flagged"}
    start = "2026-03-28T11:00:00Z"
    body = {"schedules": [daily, {"type": "hourly", "minute": 30}], "from": start, "job_id": str(job.id)}
    told = client.get(f"jobs/{job.id}/preview?from={start}").json
    before = client.post("jobs/preview", body).json
    assert told["instants"] == before["instants"]
    assert sorted(told["descriptions"]) == sorted(before["descriptions"])
    assert told["instants"][0]["notes"] == ["no_free_instant"]
    shown = client.post("windows/preview", always | {"replaces": window["id"]}).json
    assert [(one["job"]["name"], one["starts_at"]) for one in shown["moved"]] == [(job.name, None)]
    Schedule.objects.update(state_code="unplannable", state_parameters={"message": "no such zone"})
    told = client.get(f"jobs/{job.id}/preview").json
    assert (len(told["descriptions"]), told["instants"]) == (2, [])
    assert "daily at 02:30 (Europe/Berlin): Cannot be planned: no such zone" in told["descriptions"]


def test_what_merges_is_told_of_bodies_and_of_saved_jobs_and_on_the_page() -> None:
    """B6, D1: what two schedules plan for one moment is one run, and a window's held run stands for what follows."""
    client, start = ApiClient(), "2026-06-01T06:30:00Z"
    schedules = [{"type": "hourly", "minute": 0}, {"type": "daily", "time": "07:00"}]
    window = {"name": "office", "type": "blackout", "start": "08:00", "length_seconds": 7200}
    body = {"schedules": schedules, "windows": [window], "from": start, "count": 5}
    shown = client.post("jobs/preview", body).json["instants"]
    into = ["2026-06-01T07:00:00Z", "2026-06-01T08:00:00Z"]
    assert [one.get("merges_into") for one in shown] == [None, into[0], None, into[1], into[1]]
    job = make_job(schedules=schedules)
    client.post("windows", window | {"job_id": str(job.id)})
    assert client.get(f"jobs/{job.id}/preview?from={start}&count=5").json["instants"] == shown
    # A run that waits already, for a back-off of a week, is what everything merges into.
    run = make_run(job)
    Run.objects.filter(id=run.id).update(not_before=run.scheduled_for + dt.timedelta(days=7))
    waits_for = Run.objects.get(id=run.id).scheduled_for.isoformat().replace("+00:00", "Z")
    saved = client.get(f"jobs/{job.id}/preview").json["instants"]
    asked = {key: value for key, value in body.items() if key not in ("from", "count", "windows")}
    assert client.post("jobs/preview", asked | {"job_id": str(job.id)}).json["instants"] == saved
    assert {one["merges_into"] for one in saved} == {waits_for}
    page = harmless_page(operator(), reverse("admin:jobs_job_change", args=[job.pk]))
    assert page.count(waits_for) == len(saved) == 10
    assert "merges into" in page


@pytest.mark.parametrize("zone", ["", None])
def test_an_empty_zone_is_refused_wherever_a_zone_is_taken(zone: str | None) -> None:
    """B4: absent is UTC, empty is nothing that anybody meant."""
    client, repository = ApiClient(), make_repository()
    daily = {"type": "daily", "time": "02:30", "time_zone": zone}
    night = {"name": "n", "type": "blackout", "start": "01:00", "length_seconds": 60, "time_zone": zone}
    upkeep = client.request("PUT", f"repositories/{repository.id}/upkeep/check", {"schedule": daily})
    answers = {
        "schedules.0.time_zone": client.post("jobs", job_body(repository) | {"schedule": daily}),
        "schedule.time_zone": upkeep,
        "time_zone": client.post("windows", night),
    }
    for field, answer in answers.items():
        assert list(answer.refused(400, "VALIDATION_FAILED")["details"]) == [field]
