"""Changes of jobs over HTTP: PATCH with If-Match, revisions, decisions, deletion in one state (E6, H1, H7, D3)."""

import datetime as dt
from typing import Any

import pytest

from jobs.database_time import database_now
from jobs.models import Job, Run, Schedule, ScheduleEvent
from jobs.serializers import JobBody
from jobs.services import job_pause, job_resume
from syncova_project.access.models import AuditEntry
from tests.api.builders import BERLIN, NOBODY, job_body, make_job, make_run
from tests.api.client import Answer, ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
THREE = BERLIN | {"time": "03:00"}


def patch(job: Job, body: Any, tag: str | None = '"1"', client: ApiClient | None = None) -> Answer:
    headers = {} if tag is None else {"If-Match": tag}
    return (client or ApiClient()).request("PATCH", f"jobs/{job.id}", body, **headers)


def test_a_job_is_changed_in_the_state_that_was_read() -> None:
    """E6: the tag comes with every answer, and is another one after a change."""
    client = ApiClient()
    made = client.post("jobs", job_body(make_repository()))
    job = Job.objects.get()
    assert made.headers["ETag"] == client.get(f"jobs/{job.id}").headers["ETag"]
    assert made.headers["ETag"].startswith('"1-')
    answer = patch(job, {"name": "Nights", "schedule": THREE, "rpo_seconds": 90000}, client=client)
    assert (answer.status, answer.headers["ETag"][:3], answer.json["revision"]) == (200, '"2-', 2)
    assert (answer.json["name"], answer.json["rpo_seconds"]) == ("Nights", 90000)
    assert answer.json["schedule_description"] == "daily at 03:00 (Europe/Berlin)"
    assert dt.datetime.fromisoformat(answer.json["next_run_at"]) > database_now()
    assert client.get(f"jobs/{job.id}").json == answer.json


def test_every_field_of_a_new_job_can_be_changed() -> None:
    """E6: the body of a creation is a change as well; windows have an address of their own."""
    job, vault = make_job(), make_repository(name="other")
    body = job_body(vault, name="all of it", priority="low", bandwidth_limit_bps=7, strict=True, max_attempts=1)
    body |= {"rpo_seconds": 100000, "start_deadline_seconds": 60, "max_runtime_seconds": 61, "schedule": THREE}
    body |= {"depends_on": [str(make_job().id)], "hooks": [{"moment": "after_job", "name": "tell"}]}
    assert set(body) == set(JobBody().fields) - {"schedules"}
    shown = patch(job, body).json
    assert set(JobBody().fields) - {"schedule"} <= set(Job.objects.get(id=job.id).revisions.get(number=2).snapshot)
    same = set(body) - {"repository_id", "sources", "schedule", "depends_on"}
    assert {name: shown[name] for name in same} == {name: body[name] for name in same}
    assert shown["repository"] == {"id": str(vault.id), "name": "other"}
    assert shown["sources"][0].items() >= {"path": "/srv/data", "exclude_patterns": ["*.tmp"]}.items()
    assert [one["id"] for one in shown["depends_on"]] == body["depends_on"]
    assert shown["schedules"][0].items() >= THREE.items()


@pytest.mark.parametrize(
    ("tag", "status", "code"),
    [
        (None, 428, "PRECONDITION_REQUIRED"),
        ('"2"', 412, "PRECONDITION_FAILED"),
        ('W/"1"', 412, "PRECONDITION_FAILED"),
        ("", 400, "VALIDATION_FAILED"),
        ('"1', 400, "VALIDATION_FAILED"),
        ("one", 400, "VALIDATION_FAILED"),
    ],
)
def test_a_change_names_the_state_it_was_made_for(tag: str | None, status: int, code: str) -> None:
    """execution.md, section 6."""
    job = make_job()
    error = patch(job, {"name": "x"}, tag).refused(status, code)
    assert (error["details"].get("etag") == '"1"') == (status == 412)
    assert Job.objects.get().revision_number == 1


@pytest.mark.parametrize("tag", ["*", "1", '"7", "1"'])
def test_any_of_several_tags_and_any_state_at_all(tag: str) -> None:
    assert patch(make_job(), {"strict": True}, tag).json["revision"] == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"nmae": "x"}, "nmae"),
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"strict": None}, "strict"),
        ({"priority": "urgent"}, "priority"),
        ({"bandwidth_limit_bps": 0}, "bandwidth_limit_bps"),
        ({"sources": []}, "sources"),
        ({"sources": [{"id": "/a"}]}, "sources.0.type"),
        ({"sources": [{"type": "filesystem", "id": "/a", "x": 1}]}, "sources.0.x"),
        ({"schedule": THREE, "schedules": []}, "schedule"),
        ({"schedules": [THREE | {"time": "3"}]}, "schedules.0.time"),
        ({"schedules": [THREE | {"id": NOBODY}]}, "schedules.0.id"),
        ({"repository_id": NOBODY}, "repository_id"),
        ({"hooks": [{"moment": "before_job"}]}, "hooks.0.name"),
        ({"rpo_seconds": 60}, "rpo_seconds"),
        ({"id": NOBODY}, "id"),
        ([], "body"),
    ],
)
def test_what_no_job_can_be_is_refused_by_its_field(body: Any, field: str) -> None:
    """7.14: one shape, no partial save."""
    job = make_job()
    error = patch(job, body).refused(400, "VALIDATION_FAILED")
    assert field in error["details"], error
    assert Job.objects.get().revision_number == 1


def test_conflicts_have_their_own_codes() -> None:
    job, other = make_job(), make_job(name="taken")
    patch(job, {"name": "TAKEN"}).refused(409, "JOB_NAME_TAKEN")
    patch(job, {"depends_on": [str(job.id)]}).refused(409, "DEPENDENCY_CYCLE")
    patch(job, {"sources": [{"type": "proxmox_vm", "id": "qemu/1"}]}).refused(400, "SOURCE_TYPE_NOT_AVAILABLE")
    assert patch(other, {"schedules": [BERLIN, THREE]}).status == 200
    error = patch(other, {"schedule": THREE}, '"2"').refused(409, "SCHEDULE_AMBIGUOUS")
    assert len(error["details"]["schedules"]) == 2


def test_a_deleted_job_is_not_changed() -> None:
    """D3."""
    job = make_job()
    ApiClient().delete(f"jobs/{job.id}")
    patch(job, {"name": "x"}).refused(404, "JOB_NOT_FOUND")


def test_a_deletion_may_name_its_state_too() -> None:
    job, client = make_job(), ApiClient()
    client.request("DELETE", f"jobs/{job.id}", **{"If-Match": '"2"'}).refused(412, "PRECONDITION_FAILED")
    assert client.request("DELETE", f"jobs/{job.id}", **{"If-Match": '"1"'}).status == 204


def test_a_whole_tag_is_held_to_and_a_pause_is_a_change() -> None:
    """A made-up tag, one of another job and one from before a pause name no state; the revision alone sees no pause."""
    job, other, client = make_job(), make_job(), ApiClient()
    address = f"jobs/{job.id}"
    before, foreign = (str(client.get(f"jobs/{one.id}").headers["ETag"]) for one in (job, other))
    for tag in ('"1-xyz"', '"1-"', foreign, f'{before[:-1].rpartition("-")[0]}x"'):
        patch(job, {"strict": True}, tag).refused(412, "PRECONDITION_FAILED")
        client.request("DELETE", address, **{"If-Match": tag}).refused(412, "PRECONDITION_FAILED")
    paused = str(client.post(f"{address}/pause").headers["ETag"])
    patch(job, {"strict": True}, before).refused(412, "PRECONDITION_FAILED")
    client.request("DELETE", address, **{"If-Match": before}).refused(412, "PRECONDITION_FAILED")
    client.post(f"{address}/resume")
    patch(job, {"strict": True}, paused).refused(412, "PRECONDITION_FAILED")
    assert patch(job, {"strict": True}, f"{paused}, {before}").json["revision"] == 2
    client.post(f"{address}/pause")
    assert patch(job, {"strict": False}, '"2"').json["revision"] == 3
    assert patch(job, {"strict": True}, str(client.get(address).headers["ETag"])).json["revision"] == 4


def test_revisions_tell_who_changed_what() -> None:
    """H1: page by page, newest first."""
    job, client = make_job(), ApiClient()
    patch(job, {"strict": True}, client=client)
    patch(job, {"name": "x", "schedule": THREE}, '"2"', client)
    first = client.get(f"jobs/{job.id}/revisions?limit=2").json
    assert [(one["number"], one["changed"]) for one in first["revisions"]] == [
        (3, ["name", "schedules"]),
        (2, ["strict"]),
    ]
    assert first["revisions"][0]["job"]["name"] == "x"
    rest = client.get(f"jobs/{job.id}/revisions?limit=2&cursor={first['next_cursor']}").json
    assert [(one["number"], one["changed"], one["created_by"]) for one in rest["revisions"]] == [(1, [], "alice")]
    assert rest["next_cursor"] is None
    client.get(f"jobs/{NOBODY}/revisions").refused(404, "JOB_NOT_FOUND")


def test_decisions_tell_what_became_of_instants_without_runs() -> None:
    """H7: each with its sentence."""
    job, client = make_job(), ApiClient()
    moment = database_now().replace(microsecond=0)
    for _ in range(3):
        Schedule.objects.update(next_at=moment)
        job_pause(job_id=job.id, actor="alice", now=moment - dt.timedelta(seconds=1))
        job_resume(job_id=job.id, actor="alice", now=moment)
    page = client.get(f"jobs/{job.id}/decisions?limit=2").json
    assert len(page["decisions"]) == 2
    shown = page["decisions"][0]
    assert shown["first_at"] == shown["last_at"] == moment.isoformat().replace("+00:00", "Z")
    assert shown["sentence"] == "1 planned run not run: the job was paused."
    assert (shown["outcome"], shown["reason_code"], shown["count"], shown["run_id"]) == (
        "paused",
        "job_paused",
        1,
        None,
    )
    rest = client.get(f"jobs/{job.id}/decisions?limit=2&cursor={page['next_cursor']}").json
    assert (len(rest["decisions"]), rest["next_cursor"]) == (1, None)


def test_a_deleted_job_keeps_its_past() -> None:
    """H7, D3: why the instant at its deletion did not run is told to whoever might read the job, and to nobody else."""
    job, client = make_job(), ApiClient()
    Schedule.objects.update(next_at=database_now())
    assert client.delete(f"jobs/{job.id}").status == 204
    (decision,) = client.get(f"jobs/{job.id}/decisions").json["decisions"]
    assert decision["sentence"] == "1 planned run not run: the job was deleted."
    events = client.get(f"jobs/{job.id}/schedule-events").json["events"]
    assert [one["code"] for one in events] == ["deleted", "created"]
    assert len(client.get(f"jobs/{job.id}/revisions").json["revisions"]) == 1
    for past in ("decisions", "schedule-events", "revisions"):
        ApiClient("runs.read").get(f"jobs/{job.id}/{past}").refused(403, "PERMISSION_DENIED")
        client.get(f"jobs/{NOBODY}/{past}").refused(404, "JOB_NOT_FOUND")


def test_a_schedule_is_given_once() -> None:
    """Two of the same would plan each instant twice; the zone of both is the same, be it written or not."""
    job, client = make_job(), ApiClient()
    daily = {"type": "daily", "time": "02:00"}
    twice = {"schedules": [THREE, daily, daily | {"time_zone": "UTC", "missed": "never"}]}
    refused = patch(job, twice, client=client).refused(400, "VALIDATION_FAILED")
    body = job_body(make_repository()) | twice
    body.pop("schedule")
    assert refused["details"] == client.post("jobs", body).refused(400, "VALIDATION_FAILED")["details"]
    assert refused["details"] == {"schedules.2.type": ["the job has the same schedule already: give each once."]}
    assert client.post("jobs/validate", body).json["errors"] == refused["details"]
    assert patch(job, {"schedules": [THREE, daily]}, client=client).status == 200
    minutely = [{"type": "cron", "expression": text} for text in ("* * * * *", "*/1  * * * *")]
    told = patch(job, {"schedules": minutely}, '"2"', client).refused(400, "VALIDATION_FAILED")
    assert told["details"] == {"schedules.1.type": ["the job has the same schedule already: give each once."]}


def test_a_change_is_in_the_trail_with_who_and_from_where() -> None:
    """E3, 7.10."""
    job = make_job()
    patch(job, {"name": "x"}, client=ApiClient("jobs.write"))
    entry = AuditEntry.objects.get(action="job.change")
    assert entry.actor.startswith("token:tester (")
    assert (entry.subject_id, entry.address) == (str(job.id), "127.0.0.1")
    assert (entry.details["before"], entry.details["after"]) == ({"name": job.name}, {"name": "x"})
    assert entry.request_id


def test_a_waiting_run_does_not_keep_a_job_from_its_change() -> None:
    job = make_job()
    make_run(job)
    answer = patch(job, {"priority": "critical"})
    assert (answer.status, Run.objects.get().priority) == (200, "critical")


def test_what_happened_to_schedules_is_told_in_words() -> None:
    """H7: page by page, newest first, those that ended included."""
    job, client = make_job(), ApiClient()
    patch(job, {"schedule": THREE}, client=client)
    patch(job, {"schedule": THREE | {"missed": "never"}}, '"2"', client)
    client.post(f"jobs/{job.id}/pause")
    patch(job, {"schedules": [{"type": "interval", "every_seconds": 3600}]}, '"3"', client)
    schedule = Schedule.objects.get(kind="interval")
    for code, told in (
        ("recomputed", {"before": "A", "after": "B"}),
        ("clock_set_back", {"before": "A", "after": None}),
        ("flagged", {"message": "No such zone."}),
        ("of another version", {}),
    ):
        ScheduleEvent.objects.create(schedule=schedule, at=database_now(), code=code, parameters=told)
    first = client.get(f"jobs/{job.id}/schedule-events?limit=6").json
    rest = client.get(f"jobs/{job.id}/schedule-events?cursor={first['next_cursor']}").json
    assert [one["sentence"] for one in first["events"] + rest["events"]] == [
        "of another version",
        "Flagged: it cannot be planned. No such zone.",
        "The clock had stood far ahead: its next instant is never, not A.",
        "New zone rules moved its next instant from A to B.",
        "Created.",
        "Deleted.",
        "Paused with its job.",
        "What becomes of missed runs was changed.",
        "Changed from daily at 02:00 (Europe/Berlin) to daily at 03:00 (Europe/Berlin).",
        "Created.",
    ]
    assert rest["next_cursor"] is None
