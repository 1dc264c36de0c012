"""Windows over HTTP: made, listed, shown, replaced, deleted; and runs that wait for them or ignore them (B9, C3)."""

import datetime as dt
from typing import Any

import pytest

from jobs.claims import claim_due
from jobs.database_time import database_now
from jobs.models import Schedule, Window
from tests.api.builders import NOBODY, job_body, make_job
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

NIGHT = {
    "name": "night",
    "type": "allowed",
    "days": ["mon", "fri"],
    "start": "22:00",
    "length_seconds": 28800,
    "time_zone": "Europe/Berlin",
}
DAY = dt.timedelta(days=1)
LATE = "cannot keep its recovery point objective."
NEVER = "has planned instants that find no free one within 31 days."
ALWAYS = {"name": "always", "type": "blackout", "start": "00:00", "length_seconds": 7 * 86400}
ONCE = {"name": "move", "type": "blackout", "starts_at": "2026-01-01T00:00:00+01:00", "ends_at": "2099-01-01T00:00:00Z"}


def test_a_window_is_made_shown_replaced_and_deleted() -> None:
    """B9."""
    client = ApiClient()
    made = client.post("windows", NIGHT)
    address = f"windows/{made.json['id']}"
    assert (made.status, made.headers["Location"]) == (201, f"/api/v1/{address}")
    assert made.json["warnings"] == []
    shown = client.get(address).json
    assert shown == {key: value for key, value in made.json.items() if key != "warnings"}
    assert {key: shown[key] for key in NIGHT} == NIGHT
    assert (shown["kinds"], shown["job_id"], shown["repository_id"]) == (["backup", "prune"], None, None)
    replaced = client.request("PUT", address, ONCE | {"kinds": ["check"]})
    assert (replaced.status, replaced.json["starts_at"], replaced.json["kinds"]) == (
        200,
        "2025-12-31T23:00:00+00:00",
        ["check"],
    )
    assert client.delete(address).status == 204
    client.get(address).refused(404, "WINDOW_NOT_FOUND")
    client.delete(address).refused(404, "WINDOW_NOT_FOUND")


def test_a_list_is_by_name_and_paged() -> None:
    client = ApiClient()
    for name in ("b", "C", "a"):
        client.post("windows", NIGHT | {"name": name})
    first = client.get("windows?limit=2").json
    second = client.get(f"windows?limit=2&cursor={first['next_cursor']}").json
    assert [one["name"] for one in first["windows"] + second["windows"]] == ["a", "b", "C"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (NIGHT | {"end": "06:00"}, "end"),
        (NIGHT | {"type": "maybe"}, "type"),
        (NIGHT | {"kinds": ["restore"]}, "kinds"),
        (NIGHT | {"start": "25:00"}, "start"),
        (NIGHT | {"time_zone": "Mars"}, "time_zone"),
        (ONCE | {"ends_at": "yesterday"}, "ends_at"),
        (NIGHT | ONCE, "days"),
        ({"name": "x"}, "type"),
    ],
)
def test_a_bad_window_is_refused_by_its_field(body: dict[str, Any], field: str) -> None:
    error = ApiClient().post("windows", body).refused(400, "VALIDATION_FAILED")
    assert field in str(list(error["details"]))
    assert not Window.objects.exists()


def test_one_key_makes_one_window_and_a_name_names_one() -> None:
    """E5."""
    client, key = ApiClient(), {"Idempotency-Key": "k"}
    first = client.post("windows", NIGHT, **key)
    assert client.post("windows", NIGHT, **key).json == first.json
    client.post("windows", NIGHT | {"name": "NIGHT"}).refused(409, "WINDOW_NAME_TAKEN")


@pytest.mark.parametrize(
    ("method", "right"),
    [("GET", "jobs.read"), ("PUT", "windows.write"), ("DELETE", "windows.write"), ("POST", "windows.write")],
)
def test_each_asks_for_its_right(method: str, right: str) -> None:
    """E1."""
    window = ApiClient().post("windows", NIGHT).json["id"]
    address = "windows" if method == "POST" else f"windows/{window}"
    body = ONCE if method in ("PUT", "POST") else None
    ApiClient("runs.read", "jobs.run").request(method, address, body).refused(403, "PERMISSION_DENIED")
    assert ApiClient(right).request(method, address, body).status in (200, 201, 204)


def test_a_postponed_run_says_until_when_and_why() -> None:
    """5.7, C3: in the job, in the run, and in the schedule's own figures."""
    client = ApiClient()
    job = make_job()
    client.post("windows", ONCE | {"ends_at": "2026-01-01T00:00:00Z", "job_id": str(job.id)})
    until = database_now().replace(microsecond=0)
    window = Window.objects.get()
    Window.objects.filter(id=window.id).update(ends_at=until + DAY)
    Schedule.objects.update(next_at=database_now())
    claim_due(now=database_now())
    run = client.get("runs").json["runs"][0]
    expected = (until + DAY).isoformat().replace("+00:00", "Z")
    assert (run["not_before"], run["held"]["code"], run["held"]["subject"], run["held"]["until"]) == (
        expected,
        "window",
        "move",
        expected,
    )
    assert run["held"]["sentence"].endswith("the blackout move holds it.")
    assert run["postponed_seconds"] > 86000
    assert client.get(f"jobs/{job.id}").json["active_run"]["held"]["until"] == expected


def test_a_flagged_schedule_says_why() -> None:
    """B8."""
    client, job = ApiClient(), make_job()
    client.post("windows", ALWAYS)
    Schedule.objects.update(next_at=database_now())
    claim_due(now=database_now())
    schedule = client.get(f"jobs/{job.id}").json["schedules"][0]
    assert schedule["state"] == "flagged"
    assert schedule["state_reason"] == "Waits: windows such as always leave no free instant within 31 days."


def test_ignoring_windows_is_a_right_of_its_own() -> None:
    """7.8: who may change jobs, windows and all, and run them, may still not ignore a window."""
    job = make_job()
    order = {"ignore_windows": True}
    refused = ApiClient("jobs.run", "jobs.write").post(f"jobs/{job.id}/run", order).refused(403, "PERMISSION_DENIED")
    assert refused["details"] == {"needs_any_of": ["runs.ignore_windows"]}
    ApiClient("runs.ignore_windows").post(f"jobs/{job.id}/run", order).refused(403, "PERMISSION_DENIED")
    assert ApiClient("jobs.run").post(f"jobs/{job.id}/run", {"ignore_windows": False}).status == 202
    other = make_job()
    client = ApiClient("jobs.run", "runs.ignore_windows")
    assert client.post(f"jobs/{other.id}/run", order).json["ignore_windows"] is True


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"missed": "perhaps"}, "schedules.0.missed"),
        ({"missed": "once_within"}, "schedules.0.missed_within_seconds"),
        ({"missed": "never", "missed_within_seconds": 60}, "schedules.0.missed_within_seconds"),
        ({"missed": "once_within", "missed_within_seconds": 0}, "schedules.0.missed_within_seconds"),
        ({"missed": "once_within", "missed_within_seconds": "6h"}, "schedules.0.missed_within_seconds"),
        ({"missed": []}, "schedules.0.missed"),
    ],
)
def test_a_bad_policy_of_missed_runs_is_refused(fields: dict[str, Any], field: str) -> None:
    """5.9."""
    body = job_body(make_repository())
    body["schedule"] = body["schedule"] | fields
    error = ApiClient().post("jobs", body).refused(400, "VALIDATION_FAILED")
    assert list(error["details"]) == [field]


@pytest.mark.parametrize(
    ("within", "sentence"),
    [
        (None, "is missing: once_within needs it."),
        (10**20, "must be a whole number from 1 to 2147483647."),
        (2**31, "must be a whole number from 1 to 2147483647."),
    ],
)
def test_how_late_a_run_may_be_is_asked_for_and_bounded_in_words(within: int | None, sentence: str) -> None:
    body = job_body(make_repository())
    body["schedule"] = body["schedule"] | {"missed": "once_within", "missed_within_seconds": within}
    error = ApiClient().post("jobs", body).refused(400, "VALIDATION_FAILED")
    assert error["details"] == {"schedules.0.missed_within_seconds": [sentence]}


def test_a_policy_of_missed_runs_is_kept_and_shown() -> None:
    """A13."""
    body = job_body(make_repository())
    body["schedule"] = body["schedule"] | {"missed": "once_within", "missed_within_seconds": 3600}
    schedule = ApiClient().post("jobs", body).json["schedules"][0]
    assert (schedule["missed"], schedule["missed_within_seconds"]) == ("once_within", 3600)


def test_a_preview_of_windows_tells_openings_moves_and_broken_objectives() -> None:
    """B6, B9: judged by what is planned without it, saved or not."""
    client, job = ApiClient(), make_job(rpo_seconds=90000)
    make_job(name="elsewhere")
    body = NIGHT | {"job_id": str(job.id), "count": 3}
    told = client.post("windows/preview", body).json
    assert len(told["openings"]) == 3
    (moved,) = told["moved"]
    assert (moved["job"]["id"], moved["planned"] < moved["starts_at"]) == (str(job.id), True)
    assert moved["starts_at"] in [one["starts_at"] for one in told["openings"]]
    never = client.post("windows/preview", ALWAYS | {"name": "x"}).json
    assert (len(never["moved"]), never["moved"][0]["starts_at"]) == (2, None)
    assert [LATE in one for one in never["warnings"]] == [True, False, False]
    assert [NEVER in one for one in never["warnings"]] == [False, True, True]
    assert not Window.objects.exists()
    saved = client.post("windows", NIGHT | {"job_id": str(job.id)}).json
    assert client.post("windows/preview", body | {"replaces": saved["id"]}).json == told
    unknown = client.post("windows/preview", body | {"replaces": NOBODY}).refused(400, "VALIDATION_FAILED")
    assert list(unknown["details"]) == ["replaces"]
    # Beside itself it moves nothing more.
    assert client.post("windows/preview", body).json["moved"] == []
    # What the saved one breaks is no other's fault.
    assert LATE not in str(client.post("windows/preview", ALWAYS | {"name": "x"}).json["warnings"])
    assert client.post("windows/preview", ONCE | {"ends_at": "2026-01-02T00:00:00Z"}).json["openings"] == []
    error = client.post("windows/preview", NIGHT | {"start": "25:00"}).refused(400, "VALIDATION_FAILED")
    assert list(error["details"]) == ["start"]


def test_an_objective_counts_the_gap_that_is_going_on() -> None:
    """B10: a window that holds already breaks it as one to come does, for the warning, the preview and a change."""
    client, now = ApiClient(), database_now()
    daily = {"type": "daily", "time": "02:30"}
    job = client.post("jobs", job_body(make_repository()) | {"schedule": daily, "rpo_seconds": 90000}).json
    window = {"name": "move", "type": "blackout", "starts_at": (now - dt.timedelta(minutes=1)).isoformat()}
    window |= {"ends_at": (now + 20 * DAY).isoformat()}
    told = client.post("windows/preview", window).json["warnings"]
    assert len(told) == 1
    assert client.post("windows", window).json["warnings"] == told
    changed = client.request("PATCH", f"jobs/{job['id']}", {"rpo_seconds": 86400}, **{"If-Match": '"1"'})
    error = changed.refused(400, "VALIDATION_FAILED")
    assert "objective of 1 day." in error["details"]["rpo_seconds"][0]


def test_a_job_shows_when_windows_let_its_next_run_start() -> None:
    """B9: beside the planned instant, with the window that postpones it."""
    client = ApiClient()
    daily = {"type": "daily", "time": "02:30", "time_zone": "UTC"}
    job = client.post("jobs", job_body(make_repository()) | {"schedule": daily}).json
    assert (job["next_start_at"], job["next_start_window"]) == (job["next_run_at"], None)
    ends_at = (database_now() + 20 * DAY).replace(microsecond=0)
    client.post("windows", ONCE | {"ends_at": ends_at.isoformat()})
    shown = client.get(f"jobs/{job['id']}").json
    assert (shown["next_run_at"], dt.datetime.fromisoformat(shown["next_start_at"])) == (job["next_run_at"], ends_at)
    assert shown["next_start_window"] == {"code": "blackout", "name": "move"}
    client.post("windows", ALWAYS)
    shown = client.get(f"jobs/{job['id']}").json
    assert (shown["next_start_at"], shown["next_start_window"]["code"]) == (None, "blackout")
    paused = client.post(f"jobs/{job['id']}/pause").json
    assert (paused["next_start_at"], paused["next_start_window"]) == (None, None)


def test_what_a_schedule_breaks_by_itself_is_no_windows_fault() -> None:
    """B10: a grid that begins out of reach keeps no objective, with the window or without."""
    job = make_job(rpo_seconds=90000)
    far = {"type": "interval", "every_seconds": 3600, "anchor": "9000-01-01T00:00:00Z"}
    Schedule.objects.filter(job=job).update(kind="interval", definition=far)
    client = ApiClient()
    assert client.post("windows/preview", ONCE | {"ends_at": "2026-01-02T00:00:00Z"}).json["warnings"] == []
    body = job_body(make_repository()) | {"schedule": far}
    for refused in (client.post("jobs", body), client.post("jobs/preview", {"schedule": far})):
        assert list(refused.refused(400, "VALIDATION_FAILED")["details"]) == ["schedules.0.anchor"]
    Schedule.objects.update(definition=far | {"anchor": "2020-01-01T00:00:00Z"})
    assert [LATE in one for one in client.post("windows/preview", ONCE).json["warnings"]] == [True, False]


def test_who_saves_a_window_is_told_whom_it_leaves_no_start() -> None:
    """B9: at once, not when a yearly schedule is due; and whose fault it is not."""
    client, job = ApiClient(), make_job()
    window = ALWAYS | {"job_id": str(job.id)}
    made = client.post("windows", window).json
    assert made["warnings"] == [f"With this window the job {job.name} {NEVER}"]
    assert client.post("windows", window | {"name": "second"}).json["warnings"] == []
    address = f"windows/{made['id']}"
    assert client.request("PUT", address, window | {"kinds": ["check"]}).json["warnings"] == []


def test_a_preview_of_schedules_marks_the_windows_that_hold() -> None:
    """B6: before saving and afterwards, by one function."""
    client, repository = ApiClient(), make_repository()
    client.post("windows", ALWAYS | {"repository_id": str(repository.id)})
    schedules = [{"type": "daily", "time": "02:00", "time_zone": "Europe/Berlin"}, {"type": "hourly", "minute": 30}]
    body = {"schedules": schedules, "count": 30}
    plain = client.post("jobs/preview", body).json
    assert plain["descriptions"] == ["daily at 02:00 (Europe/Berlin)", "hourly at minute 30 (UTC)"]
    instants = [one["utc"] for one in plain["instants"]]
    assert (len(instants), instants) == (30, sorted(instants))
    assert not any("window" in one for one in plain["instants"])
    held = client.post("jobs/preview", body | {"repository_id": str(repository.id)}).json
    assert {one["window"]["name"] for one in held["instants"]} == {"always"}
    assert held["instants"][0]["notes"] == ["no_free_instant"]
    job = make_job(repository, schedules=schedules)
    assert client.get(f"jobs/{job.id}/preview?count=30").json["instants"] == held["instants"]
    assert client.post("jobs/preview", body | {"job_id": str(job.id)}).json == held
    error = client.post("jobs/preview", {"schedule": {"type": "daily"}}).refused(400, "VALIDATION_FAILED")
    assert list(error["details"]) == ["schedules.0.time"]
    client.post("jobs/preview", {"schedule": {}, "schedules": []}).refused(400, "VALIDATION_FAILED")
