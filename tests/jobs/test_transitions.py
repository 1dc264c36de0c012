"""Moves of runs: each guarded, each with its event, ends final (execution.md, sections 1 and 3)."""

import datetime as dt

import pytest

from jobs import task_runs, transitions
from jobs.conclusion import conclude
from jobs.executors import ExecutionResult, Failure, Figures, Progress
from jobs.models import Run
from jobs.states import CancelOrigin, FailureClass, RunState, TaskState
from jobs.verdict import Verdict
from repositories.freezing import repository_freeze, repository_unfreeze
from tests.jobs.builders import NOW, make_job, make_run, make_task_run
from tests.jobs.moves import again, codes, fence_of, good, new_run

pytestmark = pytest.mark.django_db

LATER = NOW + dt.timedelta(minutes=5)
SUCCESS = Verdict(RunState.SUCCEEDED, "completed", figures=Figures(files=3, bytes_read=9))
NETWORK = Failure("NO_ROUTE", "No route.", FailureClass.NETWORK)


def test_a_run_is_queued_once_and_says_so() -> None:
    """D1: the second of two is told that the job is active, by None."""
    job = make_job()
    run = transitions.enqueue(new_run(job), now=NOW)
    assert run is not None
    assert (run.state, codes(run)) == (RunState.QUEUED, ["queued"])
    assert transitions.enqueue(new_run(job), now=NOW) is None
    assert Run.objects.count() == 1


def test_from_waiting_to_succeeded_with_an_event_each() -> None:
    job = make_job()
    run = make_run(job)
    revision = job.revisions.get()
    assert transitions.admit(run.id, 41, revision.id, now=NOW)
    assert transitions.start(run.id, 41, "alpha:7", now=NOW)
    assert transitions.heartbeat(run.id, 41, Progress("reading", 5, 100, 50, "/srv/x"), now=LATER)
    assert transitions.confirm(run.id, 41, now=LATER)
    assert transitions.finish(run.id, 41, SUCCESS, now=LATER)
    done = again(run)
    assert (done.state, done.worker, done.files, done.finished_at) == (RunState.SUCCEEDED, "alpha:7", 3, LATER)
    assert done.progress == {
        "phase": "reading",
        "files": 5,
        "bytes_read": 100,
        "bytes_stored": 50,
        "current": "/srv/x",
    }
    assert codes(run) == ["admitted", "started", "succeeded"]
    job.refresh_from_db()
    assert (job.last_run_id, job.last_state, job.last_succeeded_at) == (run.id, "succeeded", LATER)


def test_an_old_fence_changes_no_row() -> None:
    """A late executor stops: every write of it is refused by the fence."""
    run = make_run(state="running")
    task = make_task_run(run)
    before = Run.objects.filter(id=run.id).values().get()
    old = fence_of(run) - 1
    assert not transitions.start(run.id, old, "alpha:7", now=LATER)
    assert not transitions.heartbeat(run.id, old, Progress("x"), now=LATER)
    assert not transitions.confirm(run.id, old, now=LATER)
    assert not transitions.stalled(run.id, old, 900, now=LATER)
    assert not transitions.finish(run.id, old, SUCCESS, now=LATER)
    assert not task_runs.source_started(run.id, old, task.id, now=LATER)
    assert not task_runs.source_finished(run.id, old, good(task), now=LATER)
    assert conclude(run.id, old, ExecutionResult(), now=LATER) is None
    assert Run.objects.filter(id=run.id).values().get() == before
    assert codes(run) == []
    task.refresh_from_db()
    assert task.state == TaskState.PENDING


@pytest.mark.parametrize("state", ["queued", "succeeded", "failed", "cancelled"])
def test_only_a_running_run_takes_an_executors_writes(state: str) -> None:
    run = make_run(state=state, admitted=True)
    fence = fence_of(run)
    assert not transitions.heartbeat(run.id, fence, None, now=LATER)
    assert not transitions.confirm(run.id, fence, now=LATER)
    assert not transitions.finish(run.id, fence, SUCCESS, now=LATER)
    assert again(run).state == state


def test_what_keeps_an_admitted_run_from_starting() -> None:
    """execution.md, section 1: guarded by fence, no cancel, no freeze."""
    waiting = make_run()
    assert not transitions.start(waiting.id, 1, "alpha:7", now=NOW)
    asked = make_run(admitted=True, cancel_requested_at=NOW, cancel_origin="user")
    assert not transitions.start(asked.id, fence_of(asked), "alpha:7", now=NOW)
    frozen = make_run(admitted=True)
    repository_freeze(repository_id=frozen.repository_id, reason="swapped", now=NOW)
    assert not transitions.start(frozen.id, fence_of(frozen), "alpha:7", now=NOW)
    repository_unfreeze(repository_id=frozen.repository_id, actor="alice", now=NOW)
    assert transitions.start(frozen.id, fence_of(frozen), "alpha:7", now=NOW)
    assert not transitions.start(frozen.id, fence_of(frozen), "alpha:8", now=NOW)


def test_a_freeze_admits_nothing_but_restores_and_checks() -> None:
    """G2: the freeze is read inside the statement that admits."""
    job = make_job()
    repository_freeze(repository_id=job.repository_id, reason="swapped", now=NOW)
    backup = make_run(job)
    assert not transitions.admit(backup.id, 5, job.revisions.get().id, now=NOW)
    for fence, kind in enumerate(("restore", "check", "drill"), start=10):
        run = make_run(kind=kind, repository=job.repository)
        assert transitions.admit(run.id, fence, None, now=NOW)
        assert transitions.start(run.id, fence, "alpha:7", now=NOW)
    prune = make_run(kind="prune", repository=job.repository)
    assert not transitions.admit(prune.id, 20, None, now=NOW)


def test_a_withdrawn_run_waits_again_and_its_fence_is_dead() -> None:
    run = make_run(admitted=True)
    fence = fence_of(run)
    make_task_run(run)
    assert transitions.withdraw(run.id, fence, now=LATER)
    waiting = again(run)
    assert (waiting.admitted_at, waiting.held_code, waiting.held_since) == (None, "not_taken", LATER)
    assert not waiting.task_runs.exists()
    assert not transitions.start(run.id, fence, "alpha:7", now=LATER)
    assert not transitions.withdraw(run.id, fence, now=LATER)


def test_a_finished_run_cannot_end_twice() -> None:
    run = make_run(state="running")
    assert transitions.finish(run.id, fence_of(run), SUCCESS, now=LATER)
    failed = Verdict(RunState.FAILED, "x", failure=NETWORK)
    assert not transitions.finish(run.id, fence_of(run), failed, now=LATER)
    assert not transitions.orphan(run.id, fence_of(run), LATER, now=LATER)
    assert transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=LATER) is None
    assert again(run).state == RunState.SUCCEEDED


def test_an_end_is_never_before_its_start() -> None:
    """execution.md, section 4: no CHECK makes a result unwritable when a clock went back."""
    run = make_run(state="running", started_at=LATER, heartbeat_at=LATER)
    make_task_run(run, state="running", started_at=LATER)
    assert transitions.finish(run.id, fence_of(run), Verdict(RunState.FAILED, "x", failure=NETWORK), now=NOW)
    assert again(run).finished_at == LATER


@pytest.mark.parametrize("admitted", [False, True])
def test_cancel_of_a_queued_run_is_at_once(admitted: bool) -> None:
    run = make_run(admitted=admitted, held_code="frozen", held_since=NOW)
    make_task_run(run)
    assert transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=LATER) is RunState.CANCELLED
    done = again(run)
    assert (done.state, done.cancel_origin, done.cancelled_by, done.held_code) == ("cancelled", "user", "alice", "")
    assert done.task_runs.get().state == TaskState.CANCELLED
    assert codes(run) == ["cancelled"]
    if admitted:
        assert not transitions.start(run.id, fence_of(run), "alpha:7", now=LATER)


def test_cancel_of_a_running_run_is_asked_for_and_may_be_repeated() -> None:
    run = make_run(state="running")
    for _ in range(2):
        assert transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=LATER) is RunState.RUNNING
    asked = again(run)
    assert (asked.state, asked.cancel_origin, asked.cancel_requested_at) == ("running", "user", LATER)
    assert codes(run) == ["cancel_requested"]
