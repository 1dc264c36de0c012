"""Windows of a job changed with it: PATCH takes them as a job shows them, and previews take what PATCH takes (7.1)."""

import datetime as dt
from typing import Any

import pytest

from jobs.models import Job, Run, Window
from syncova_project.access.models import AuditEntry
from tests.api.builders import job_body
from tests.api.client import Answer, ApiClient
from tests.jobs.builders import make_run
from tests.repositories.builders import NOW, make_repository

pytestmark = pytest.mark.django_db
NOON = {"name": "noon", "type": "allowed", "start": "12:00", "length_seconds": 3600}
OFFICE = {"name": "office", "type": "blackout", "start": "08:00", "length_seconds": 36000, "time_zone": "UTC"}
NIGHT = {"name": "night", "type": "blackout", "start": "22:00", "length_seconds": 3600}
CLOSED = {"name": "closed", "type": "blackout", "start": "00:00", "days": ["mon"], "length_seconds": 6 * 86400}
MOVE = {"name": "move", "type": "blackout", "starts_at": "2026-01-01T00:00:00Z", "ends_at": "2099-01-01T00:00:00Z"}
KEPT = ("id", "name", "type", "kinds", "days", "start", "length_seconds", "time_zone")


def made(*windows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    body = job_body(make_repository(), **fields) | {"windows": list(windows)}
    answer: dict[str, Any] = ApiClient().post("jobs", body).json
    return answer


def patch(job: dict[str, Any], body: Any, tag: str | None = '"1"', client: ApiClient | None = None) -> Answer:
    headers = {} if tag is None else {"If-Match": tag}
    return (client or ApiClient()).request("PATCH", f"jobs/{job['id']}", body, **headers)


def test_a_list_replaces_the_jobs_windows_and_what_stays_keeps_its_id() -> None:
    """By id, then by name, whatever its case; others begin or end. One revision, and the trail tells both."""
    job = made(NOON, OFFICE, CLOSED)
    ids = {one["name"]: one["id"] for one in job["windows"]}
    wanted = [{**OFFICE, "id": ids["office"], "name": "work"}, {**NOON, "name": "Noon", "start": "13:00"}, NIGHT]
    answer = patch(job, {"windows": wanted, "name": "moved"})
    assert (answer.status, answer.json["revision"], answer.json["name"]) == (200, 2, "moved")
    shown = {one["name"]: (one["id"], one["start"]) for one in answer.json["windows"]}
    assert shown.keys() == {"work", "Noon", "night"}
    assert (shown["work"], shown["Noon"]) == ((ids["office"], "08:00"), (ids["noon"], "13:00"))
    assert ApiClient().get(f"jobs/{job['id']}").json["windows"] == answer.json["windows"]
    assert Window.objects.count() == 3
    changes = AuditEntry.objects.filter(action__startswith="window.").order_by("id")[3:]
    assert [one.action for one in changes] == ["window.delete", "window.change", "window.change", "window.create"]
    told = AuditEntry.objects.get(action="job.change").details
    assert {one["name"] for one in told["before"]["windows"]} == {"noon", "office", "closed"}
    assert {one["name"] for one in told["after"]["windows"]} == {"Noon", "work", "night"}


def test_what_a_job_shows_changes_nothing_when_it_is_sent_back() -> None:
    job = made(NOON, OFFICE)
    shown = [{name: one[name] for name in KEPT} for one in job["windows"]]
    assert patch(job, {"windows": shown}).json["revision"] == 1
    assert not AuditEntry.objects.filter(action__in=("job.change", "window.change")).exists()
    assert patch(job, {"windows": []}).json["windows"] == []
    assert Window.objects.count() == 0


@pytest.mark.parametrize(
    ("windows", "field"),
    [
        ([NOON, {**OFFICE, "time_zone": "Mars/North"}], "windows.1.time_zone"),
        ([{**OFFICE, "length_seconds": 0}], "windows.0.length_seconds"),
        ([{**OFFICE, "job_id": None}], "windows.0.job_id"),
        ([{"name": "x", "type": "blackout"}], "windows.0.start"),
        ([{"name": "\u00a0", **{name: OFFICE[name] for name in OFFICE if name != "name"}}], "windows.0.name"),
        ([{**NOON, "id": "mine"}, {**OFFICE, "id": "mine"}], "windows.1.id"),
        ([{**NOON, "id": "others"}], "windows.0.id"),
        ([{**NOON, "id": "none"}], "windows.0.id"),
        ([CLOSED], "rpo_seconds"),
        (None, "windows"),
        ([NOON] * 21, "windows"),
    ],
)
def test_what_is_refused_changes_nothing(windows: Any, field: str) -> None:
    """7.14: the field's name, and no partial save."""
    job, other = made(NOON, rpo_seconds=172800), made(OFFICE, name="other")
    ids = {"mine": job["windows"][0]["id"], "others": other["windows"][0]["id"]}
    for one in windows or ():
        one |= {"id": ids.get(one["id"], "x")} if "id" in one else {}
    error = patch(job, {"windows": windows}).refused(400, "VALIDATION_FAILED")
    assert field in error["details"], error
    assert (Job.objects.get(id=job["id"]).revision_number, Window.objects.count()) == (1, 2)
    assert [one["name"] for one in ApiClient().get(f"jobs/{job['id']}").json["windows"]] == ["noon"]


def test_a_change_of_windows_names_the_state_it_was_made_for() -> None:
    job = made(NOON)
    patch(job, {"windows": []}, None).refused(428, "PRECONDITION_REQUIRED")
    patch(job, {"windows": []}, '"7"').refused(412, "PRECONDITION_FAILED")
    made(OFFICE, name="other")
    patch(job, {"windows": [{**NIGHT, "name": "OFFICE"}]}).refused(409, "WINDOW_NAME_TAKEN")
    assert [one["name"] for one in ApiClient().get(f"jobs/{job['id']}").json["windows"]] == ["noon"]


def test_windows_of_a_change_need_their_right() -> None:
    job, client = made(NOON), ApiClient("jobs.write", "jobs.read")
    patch(job, {"windows": []}, client=client).refused(403, "PERMISSION_DENIED")
    assert patch(job, {"strict": True}, client=client).json["windows"][0]["name"] == "noon"


def test_what_waits_is_planned_anew_at_once() -> None:
    """B9: in the transaction of the change; the run that the job's window held may start."""
    job = made(CLOSED)
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=5)
    held = {"held_code": "window", "held_subject": f"blackout {later.isoformat()} closed", "held_since": later}
    run = make_run(Job.objects.get(id=job["id"]), "queued", not_before=later, **held)
    patch(job, {"windows": []})
    run = Run.objects.get(id=run.id)
    assert (run.held_code, run.not_before < later) == ("", True)


def test_a_preview_takes_the_windows_that_a_change_takes() -> None:
    """B6: in place of the job's own, and for a job that is not there yet; nothing is saved."""
    job, client = made(NIGHT), ApiClient()
    body: dict[str, Any] = {"schedule": {"type": "daily", "time": "22:30", "time_zone": "UTC"}, "count": 1}

    def window(**asked: Any) -> str | None:
        (one,) = client.post("jobs/preview", {**body, **asked}).json["instants"]
        name: str | None = one.get("window", {}).get("name")
        return name

    shown = [{name: one[name] for name in KEPT} for one in job["windows"]]
    assert [window(), window(job_id=job["id"]), window(job_id=job["id"], windows=shown)] == [None, "night", "night"]
    assert [window(job_id=job["id"], windows=[]), window(windows=[{**NIGHT, "name": "new"}])] == [None, "new"]
    wrong = {**body, "windows": shown}
    assert "windows.0.id" in client.post("jobs/preview", wrong).refused(400, "VALIDATION_FAILED")["details"]
    wrong = {**body, "windows": [{**NIGHT, "time_zone": "Mars/North"}]}
    assert "windows.0.time_zone" in client.post("jobs/preview", wrong).refused(400, "VALIDATION_FAILED")["details"]
    assert Window.objects.count() == 1


def test_windows_change_their_names_among_each_other() -> None:
    """Two that swap, a chain, and a new one with a name that becomes free; a name of somebody else's stays refused."""
    job = made(NOON, OFFICE, CLOSED)
    ids = {one["name"]: one["id"] for one in job["windows"]}
    swapped = [{**NOON, "id": ids["noon"], "name": "office"}, {**OFFICE, "id": ids["office"], "name": "Noon"}, CLOSED]
    answer = patch(job, {"windows": swapped})
    assert answer.status == 200, answer.json
    shown = {one["name"]: (one["id"], one["start"]) for one in answer.json["windows"]}
    assert (shown["office"], shown["Noon"]) == ((ids["noon"], "12:00"), (ids["office"], "08:00"))
    told = [one.details for one in AuditEntry.objects.filter(action="window.change").order_by("id")]
    assert [(one["before"]["name"], one["name"]) for one in told] == [("noon", "office"), ("office", "Noon")]
    chain = [{**NOON, "id": ids["noon"], "name": "closed"}, {**CLOSED, "id": ids["closed"], "name": "other"}]
    answer = patch(job, {"windows": [*chain, {**OFFICE, "name": "office"}]}, '"2"')
    assert {one["name"] for one in answer.json["windows"]} == {"closed", "other", "office"}
    made({**NIGHT, "name": "strange"}, name="foreign")
    taken = [{**one, "name": name} for one, name in zip(chain, ("other", "strange"), strict=True)]
    patch(job, {"windows": taken}, '"3"').refused(409, "WINDOW_NAME_TAKEN")
    assert ApiClient().get(f"jobs/{job['id']}").json["windows"] == answer.json["windows"]


def test_a_run_that_waits_tells_the_name_that_its_window_has_in_the_end() -> None:
    job = made(NOON, MOVE)
    ids = {one["name"]: one["id"] for one in job["windows"]}
    held = {"held_code": "window", "held_subject": f"blackout {MOVE['ends_at']} move", "held_since": NOW}
    run = make_run(Job.objects.get(id=job["id"]), "queued", **held)
    swapped = [{**NOON, "id": ids["noon"], "name": "move"}, {**MOVE, "id": ids["move"], "name": "noon"}]
    assert patch(job, {"windows": swapped}).status == 200
    run = Run.objects.get(id=run.id)
    assert (run.held_code, run.held_subject.split()[-1]) == ("window", "noon")
