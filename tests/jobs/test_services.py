"""Making, pausing, resuming and deleting jobs (E3, D3, B10)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from jobs.claims import claim_due
from jobs.errors import (
    JobNameTakenError,
    JobNeededError,
    JobNotFoundError,
    RepositoryNotReadyError,
    SourceNotAllowedError,
)
from jobs.models import Job, JobDependency, Run, Runner, ScheduleDecision, ScheduleEvent, Source
from jobs.revisions import read_revision
from jobs.services import (
    NewJob,
    SourceInput,
    WorkerInput,
    job_create,
    job_delete,
    job_pause,
    job_resume,
    run_request,
    worker_seen,
)
from syncova_project.errors import ValidationFailedError
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, new_id
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
BERLIN = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}


def wanted(**fields: Any) -> NewJob:
    values: dict[str, Any] = {
        "name": "Nightly",
        "repository_id": fields.pop("repository_id", None) or make_repository().id,
        "sources": (SourceInput(b"/home/alice/"), SourceInput(b"/srv/\xffdata", excludes=("*.tmp",))),
        "schedules": (BERLIN,),
    }
    return NewJob(**(values | fields))


def create(new: NewJob | None = None, **fields: Any) -> Job:
    return job_create(new or wanted(**fields), actor="alice", now=NOW)


def test_a_new_job_is_planned_at_once() -> None:
    """E3, H1: with its sources, schedule and first revision."""
    job = create(bandwidth_limit_bps=52_428_800, strict=True, priority="high", max_attempts=5)
    schedule = job.schedules.get()
    assert schedule.next_at == dt.datetime(2026, 12, 1, 1, 30, tzinfo=dt.UTC)
    assert (schedule.kind, schedule.definition) == ("daily", BERLIN)
    paths = [bytes(place.source.normalised_id) for place in job.job_sources.order_by("position")]
    assert paths == [b"/home/alice", b"/srv/\xffdata"]
    assert "\ufffd" not in job.job_sources.get(position=1).source.shown
    pinned = read_revision(job.revisions.get())
    assert [source.path for source in pinned.sources] == paths
    assert pinned.sources[1].excludes == ("*.tmp",)
    assert (pinned.bandwidth_limit_bps, pinned.strict) == (52_428_800, True)
    assert ScheduleEvent.objects.get().actor == "alice"


def test_jobs_share_the_row_of_a_source() -> None:
    """C2: the limit of a source holds across jobs."""
    create()
    create(name="Hourly", sources=(SourceInput(b"/home//alice"),))
    assert Source.objects.filter(normalised_id=b"/home/alice").count() == 1
    assert Runner.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "n" * 201}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"priority": "urgent"}, "priority"),
        ({"bandwidth_limit_bps": 0}, "bandwidth_limit_bps"),
        ({"max_attempts": 11}, "max_attempts"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"rpo_seconds": 4 * 3600}, "rpo_seconds"),
        ({"max_runtime_seconds": 0}, "max_runtime_seconds"),
        ({"sources": ()}, "sources"),
        ({"sources": (SourceInput(b"home"),)}, "sources.0.path"),
        ({"sources": (SourceInput(b"/a"), SourceInput(b"/b\0"))}, "sources.1.path"),
        ({"sources": (SourceInput(b"/a"), SourceInput(b"/a/"))}, "sources.1.path"),
        ({"sources": (SourceInput(b"/a", type="proxmox_vm"),)}, "sources.0.type"),
        ({"sources": (SourceInput(b"/a", excludes=("x\ny",)),)}, "sources.0.exclude_patterns.0"),
        ({"sources": (SourceInput(b"/a", excludes=("",)),)}, "sources.0.exclude_patterns.0"),
        ({"sources": (SourceInput(b"/a", excludes=("x", "[a")),)}, "sources.0.exclude_patterns.1"),
        ({"schedules": (BERLIN, {"type": "daily", "time": "25:00"})}, "schedules.1.time"),
        ({"schedules": ({"type": "cron"},)}, "schedules.0.expression"),
        ({"repository_id": new_id()}, "repository_id"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(fields: dict[str, Any], field: str) -> None:
    """B10, C7: and nothing is left behind."""
    with pytest.raises(ValidationFailedError) as caught:
        create(**fields)
    assert list(caught.value.details) == [field]
    assert not Job.objects.exists()


@pytest.mark.parametrize("below", ["", "/packs"])
def test_the_repository_is_no_source_of_its_own_backups(below: str) -> None:
    """Refused when the job is saved; a directory above it is fine, the engine leaves the repository out."""
    repository = make_repository(location="/srv/vault")
    with pytest.raises(SourceNotAllowedError, match="is the repository"):
        create(repository_id=repository.id, sources=(SourceInput(f"/srv/vault{below}".encode()),))
    assert create(repository_id=repository.id, sources=(SourceInput(b"/srv"), SourceInput(b"/srv/vault2")))


@pytest.mark.parametrize("path", [b"/etc/passwd", b"/etc", b"/homestead"])
def test_a_source_outside_the_roots_is_refused(settings: Any, path: bytes) -> None:
    """execution.md, section 3."""
    settings.SYNCOVA_SOURCE_ROOTS = ["/home"]
    with pytest.raises(SourceNotAllowedError) as caught:
        create(sources=(SourceInput(path),))
    assert (caught.value.code, list(caught.value.details)) == ("SOURCE_NOT_ALLOWED", ["sources.0.path"])


def test_our_own_data_is_no_source(settings: Any) -> None:
    settings.DATA_DIR = "/var/lib/syncova"
    with pytest.raises(SourceNotAllowedError):
        create(sources=(SourceInput(b"/var/lib/syncova/secrets"),))
    assert create(sources=(SourceInput(b"/"),)).name == "Nightly"


def test_what_a_worker_reported_counts_before_the_settings(settings: Any) -> None:
    settings.SYNCOVA_SOURCE_ROOTS = ["/"]
    worker_seen(WorkerInput("default", "alpha", 7, 2, source_roots=("/home",)), now=NOW)
    with pytest.raises(SourceNotAllowedError):
        create(sources=(SourceInput(b"/srv"),))


def test_names_are_kept_once() -> None:
    create()
    with pytest.raises(JobNameTakenError):
        create(name="  nIGHTLY ")
    first = Job.objects.get()
    job_delete(job_id=first.id, actor="alice", now=NOW)
    assert create(name="nightly").id != first.id


@pytest.mark.parametrize("state", ["registering", "failed"])
def test_a_repository_that_takes_no_backups_is_refused_with_its_reason(state: str) -> None:
    """E7."""
    fields = {"state_code": "WRONG_PASSWORD", "state_reason": "No key opens it."} if state == "failed" else {}
    repository = make_repository(state=state, repository_id=None, **fields)
    with pytest.raises(RepositoryNotReadyError):
        create(repository_id=repository.id)


def test_pausing_cancels_what_waits_and_lets_what_runs_go_on() -> None:
    """execution.md, section 4."""
    waiting, running = make_job(), make_job()
    queued, busy = make_run(waiting, admitted=True), make_run(running, "running")
    for job in (waiting, running):
        for _ in range(2):
            assert job_pause(job_id=job.id, actor="alice", now=NOW).paused_at == NOW
    queued.refresh_from_db()
    busy.refresh_from_db()
    assert (queued.state, queued.cancel_origin, queued.cancelled_by) == ("cancelled", "job_paused", "alice")
    assert (busy.state, busy.cancel_requested_at) == ("running", None)


def test_a_week_of_pause_fires_nothing_and_is_one_decision() -> None:
    """E3, H7."""
    schedule = make_schedule()
    job_pause(job_id=schedule.job_id, actor="alice", now=NOW - DAY)
    assert claim_due(now=NOW + 3 * DAY).queued == 0
    resumed_at = NOW + 7 * DAY + dt.timedelta(hours=1)
    assert job_resume(job_id=schedule.job_id, actor="alice", now=resumed_at).paused_at is None
    schedule.refresh_from_db()
    assert schedule.next_at == NOW + 8 * DAY
    decision = ScheduleDecision.objects.get()
    assert (decision.outcome, decision.reason_code, decision.count) == ("paused", "job_paused", 8)
    assert (decision.first_at, decision.last_at) == (NOW, NOW + 7 * DAY)
    assert claim_due(now=resumed_at).queued == 0


def test_resuming_begins_an_intervals_grid_anew() -> None:
    """execution.md, section 4."""
    schedule = make_schedule(definition={"type": "interval", "every_seconds": 3600})
    job_pause(job_id=schedule.job_id, actor="alice", now=NOW)
    later = NOW + dt.timedelta(minutes=17)
    job_resume(job_id=schedule.job_id, actor="alice", now=later)
    schedule.refresh_from_db()
    assert (schedule.anchor, schedule.next_at) == (later, later + dt.timedelta(hours=1))


def test_a_job_whose_schedule_cannot_be_planned_is_resumed_and_deleted_all_the_same() -> None:
    """5.6: one bad zone is flagged and stops nothing else."""
    bad = make_schedule(definition={"type": "daily", "time": "02:00", "time_zone": "Europe/Atlantis"})
    good = make_schedule(bad.job)
    job_pause(job_id=bad.job_id, actor="alice", now=NOW)
    job_resume(job_id=bad.job_id, actor="alice", now=NOW + DAY)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.state, good.next_at) == ("flagged", NOW + 2 * DAY)
    worse = make_schedule(definition={"type": "daily"})
    assert job_delete(job_id=worse.job_id, actor="alice", now=NOW).deleted_at == NOW


def test_resuming_what_is_not_paused_changes_nothing() -> None:
    schedule = make_schedule(definition={"type": "interval", "every_seconds": 3600})
    before = (schedule.anchor, schedule.next_at)
    job_resume(job_id=schedule.job_id, actor="alice", now=NOW + DAY)
    schedule.refresh_from_db()
    assert (schedule.anchor, schedule.next_at) == before


def test_deleting_is_soft_and_ends_everything() -> None:
    """D3: the runs, the proof that backups happened, stay."""
    schedule = make_schedule()
    job = schedule.job
    proof = make_run(job, "succeeded")
    running = make_run(job, "running")
    job_delete(job_id=job.id, actor="alice", now=NOW)
    running.refresh_from_db()
    schedule.refresh_from_db()
    assert (running.state, running.cancel_origin) == ("running", "job_deleted")
    assert (schedule.next_at, schedule.deleted_at) == (None, NOW)
    assert ScheduleDecision.objects.get().reason_code == "job_deleted"
    assert Run.objects.filter(id=proof.id).exists()
    calls: list[Callable[..., Any]] = [job_delete, job_pause, job_resume, run_request]
    for call in calls:
        with pytest.raises(JobNotFoundError):
            call(job_id=job.id, actor="alice", now=NOW)


def test_a_job_that_others_wait_for_is_not_deleted() -> None:
    job, other = make_job(), make_job(name="Application")
    JobDependency.objects.create(job=other, predecessor=job, created_at=NOW)
    with pytest.raises(JobNeededError, match="Application"):
        job_delete(job_id=job.id, actor="alice", now=NOW)
    job_delete(job_id=other.id, actor="alice", now=NOW)
    job_delete(job_id=job.id, actor="alice", now=NOW)
