"""Asking for runs, cancelling them, and workers telling that they are there (E2)."""

import base64
import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from jobs.errors import (
    JobActiveError,
    JobNotFoundError,
    JobPausedError,
    RepositoryNotReadyError,
    RunFinishedError,
    RunNotFoundError,
    UpkeepActiveError,
)
from jobs.models import RunEvent, WorkerProcess
from jobs.services import (
    WorkerInput,
    operation_request,
    run_cancel,
    run_request,
    worker_drains,
    worker_gone,
    worker_seen,
)
from jobs.states import RunKind
from repositories.freezing import repository_freeze
from repositories.models import Repository
from syncova_project.access.models import AuditEntry
from syncova_project.errors import SyncovaError
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_run, new_id
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
BERLIN = {"type": "daily", "time": "02:30", "time_zone": "Europe/Berlin"}


def test_a_request_queues_a_run_and_asks_for_a_pass(django_capture_on_commit_callbacks: Any) -> None:
    """E2."""
    job = make_job(priority="critical")
    with django_capture_on_commit_callbacks(execute=True):
        run = run_request(job_id=job.id, actor="alice", now=NOW)
    assert (run.state, run.trigger, run.requested_by, run.priority) == ("queued", "manual", "alice", "critical")
    assert bells.woken == [1]


def test_a_request_that_cannot_be_says_why() -> None:
    """E2: 409, never 500."""
    job = make_job()
    active = make_run(job, held_code="no_worker", held_since=NOW)
    with pytest.raises(JobActiveError) as caught:
        run_request(job_id=job.id, actor="alice", now=NOW)
    assert caught.value.status == 409
    assert caught.value.details["run_id"] == str(active.id)
    assert (caught.value.details["state"], caught.value.details["held"]) == ("queued", "no_worker")
    assert f"the run {active.id}, which is waiting: Waits for a worker" in caught.value.message
    paused = make_job(paused_at=NOW)
    with pytest.raises(JobPausedError):
        run_request(job_id=paused.id, actor="alice", now=NOW)
    unready = make_job()
    Repository.objects.filter(id=unready.repository_id).update(state="registering")
    with pytest.raises(RepositoryNotReadyError):
        run_request(job_id=unready.id, actor="alice", now=NOW)
    with pytest.raises(JobNotFoundError):
        run_request(job_id=new_id(), actor="alice", now=NOW)


@pytest.mark.parametrize("accepted", [False, True])
def test_a_confirmation_is_kept_with_who_gave_it(accepted: bool) -> None:
    """2.6: in the row, its event and the audit trail."""
    job = make_job()
    run = run_request(job_id=job.id, actor="alice", now=NOW, accept_new_root=accepted)
    run.refresh_from_db()
    assert (run.accept_new_root, run.requested_by) == (accepted, "alice")
    event = RunEvent.objects.get(run=run)
    assert (event.actor, event.parameters.get("accept_new_root", False)) == ("alice", accepted)
    entry = AuditEntry.objects.get(subject_id=str(run.id))
    assert (entry.actor, entry.action) == ("alice", "run.request")
    assert entry.details.get("accept_new_root", False) is accepted


def test_a_waiting_retry_gives_way_to_a_confirmation() -> None:
    """2.6: it would only meet again what is confirmed; an ordinary request finds it active."""
    job = make_job()
    failed = make_run(job, "failed")
    retry = make_run(job, trigger="retry", origin_run=failed, root_run=failed, attempt=2)
    with pytest.raises(JobActiveError):
        run_request(job_id=job.id, actor="alice", now=NOW)
    run = run_request(job_id=job.id, actor="alice", now=NOW, accept_new_root=True)
    retry.refresh_from_db()
    assert (retry.state, retry.cancelled_by, run.state) == ("cancelled", "alice", "queued")
    with pytest.raises(JobActiveError):
        run_request(job_id=job.id, actor="alice", now=NOW, accept_new_root=True)


def test_a_frozen_repository_refuses_no_request() -> None:
    """execution.md, section 2: freeze, backup by hand: waits."""
    job = make_job()
    repository_freeze(repository_id=job.repository_id, reason="x", now=NOW)
    assert run_request(job_id=job.id, actor="alice", now=NOW).state == "queued"


def test_cancelling_by_hand() -> None:
    """E2: repeated is fine, ended is 409."""
    running = make_run(state="running")
    for _ in range(2):
        assert run_cancel(run_id=running.id, actor="alice", now=NOW).cancel_origin == "user"
    queued = make_run(state="queued")
    run_cancel(run_id=queued.id, actor="alice", now=NOW)
    entries = AuditEntry.objects.filter(action="run.cancel").order_by("id")
    whose = {"kind": "backup", "job": str(running.job_id), "repository": str(running.repository_id)}
    free, asked = {"state": "running", "cancel_origin": None}, {"state": "running", "cancel_origin": "user"}
    assert entries[0].details == {**whose, "before": free, "after": asked}
    assert (entries[1].details["before"], entries[1].details["after"]) == (asked, asked)
    ended = {"state": "cancelled", "cancel_origin": "user"}
    told = entries[2].details
    assert (told["before"], told["after"]) == ({"state": "queued", "cancel_origin": None}, ended)
    assert told["job"] == str(queued.job_id)
    with pytest.raises(RunFinishedError):
        run_cancel(run_id=make_run(state="succeeded").id, actor="alice", now=NOW)
    with pytest.raises(RunNotFoundError):
        run_cancel(run_id=new_id(), actor="alice", now=NOW)


def test_other_kinds_are_queued_without_a_job(settings: Any) -> None:
    repository = make_repository(worker_group="beta")
    settings.SYNCOVA_RESTORE_ROOTS = ["/srv/restores"]
    wanted = {"backup": "latest", "target_base64": base64.b64encode(b"/srv/restores/one").decode()}
    for _ in range(2):
        restore = operation_request(
            RunKind.RESTORE, repository_id=repository.id, parameters=wanted, actor="alice", now=NOW
        )
    assert (restore.job_id, restore.runner.name, restore.parameters) == (None, "beta", wanted)
    operation_request(RunKind.CHECK, repository_id=repository.id, parameters={}, actor="alice", now=NOW)
    with pytest.raises(UpkeepActiveError):
        operation_request(RunKind.CHECK, repository_id=repository.id, parameters={}, actor="alice", now=NOW)
    with pytest.raises(RepositoryNotReadyError):
        operation_request(RunKind.CHECK, repository_id=new_id(), parameters={}, actor="alice", now=NOW)
    with pytest.raises(ValueError, match="belong to a job"):
        operation_request(RunKind.BACKUP, repository_id=repository.id, parameters={}, actor="alice", now=NOW)


def test_a_worker_is_seen_renewed_and_gone(django_capture_on_commit_callbacks: Any) -> None:
    worker = WorkerInput("default", "alpha", 7, 2)
    with django_capture_on_commit_callbacks(execute=True):
        worker_seen(worker, now=NOW)
        worker_seen(worker, now=NOW + dt.timedelta(seconds=10))
        # A clock that went back must not make the row unwritable.
        worker_seen(worker, now=NOW - DAY)
    row = WorkerProcess.objects.get()
    assert (row.slots, row.draining, row.started_at) == (2, False, NOW)
    assert bells.woken == [1]
    worker_seen(replace(worker, slots=4), draining=True, now=NOW)
    row.refresh_from_db()
    assert (row.slots, row.draining) == (4, True)
    worker_seen(worker, now=NOW)
    worker_drains(host="alpha", process_id=7)
    row.refresh_from_db()
    assert row.draining
    worker_gone(group="default", host="alpha", process_id=7)
    assert not WorkerProcess.objects.exists()


def test_rows_of_dead_workers_are_forgotten() -> None:
    worker_seen(WorkerInput("default", "alpha", 7, 2), now=NOW - DAY)
    worker_seen(WorkerInput("default", "alpha", 8, 2), now=NOW)
    assert WorkerProcess.objects.get().process_id == 8


def test_a_group_with_an_impossible_name_is_refused() -> None:
    with pytest.raises(SyncovaError, match="worker group"):
        worker_seen(WorkerInput("two words", "alpha", 7, 2), now=NOW)
