"""Ends of runs: verdict, sources and what follows, in one transaction (A6, A12, A15, A16)."""

import datetime as dt

import pytest

from jobs import task_runs, transitions
from jobs.conclusion import conclude
from jobs.executors import Damage, ExecutionResult, Failure, Figures, SourceResult
from jobs.models import Job, Run, RunEvent
from jobs.states import CancelOrigin, FailureClass, RunState, TaskState
from jobs.verdict import Verdict
from repositories.freezing import repository_freeze
from repositories.models import RepositoryFreeze
from tests.jobs.builders import NOW, make_job, make_run, make_source, make_task_run
from tests.jobs.moves import again, fence_of, good, new_run

pytestmark = pytest.mark.django_db

LATER = NOW + dt.timedelta(minutes=5)
SUCCESS = Verdict(RunState.SUCCEEDED, "completed", figures=Figures(files=3, bytes_read=9))
NETWORK = Failure("NO_ROUTE", "No route.", FailureClass.NETWORK)


def test_a_failure_queues_its_retry_in_the_closing_transaction() -> None:
    """A12."""
    job = make_job(max_attempts=2)
    run = make_run(job, "running", priority="high")
    assert transitions.finish(run.id, fence_of(run), Verdict(RunState.FAILED, "x", failure=NETWORK), now=LATER)
    retry = Run.objects.get(origin_run=run)
    assert (retry.state, retry.trigger, retry.attempt, retry.root_run_id) == ("queued", "retry", 2, run.id)
    assert (retry.scheduled_for, retry.priority, retry.job_id) == (NOW, "high", job.id)
    wait = (retry.not_before - LATER).total_seconds()
    assert 22.5 <= wait <= 30
    # The retry occupies the job.
    assert transitions.enqueue(new_run(job), now=LATER) is None


def test_the_last_attempt_and_unhelpful_classes_queue_nothing() -> None:
    """C5, C6."""
    last = make_run(make_job(max_attempts=1), "running")
    assert transitions.finish(last.id, fence_of(last), Verdict(RunState.FAILED, "x", failure=NETWORK), now=LATER)
    broken = make_run(state="running")
    integrity = Failure("X", "x", FailureClass.INTEGRITY)
    assert transitions.finish(broken.id, fence_of(broken), Verdict(RunState.FAILED, "x", failure=integrity), now=LATER)
    assert not Run.objects.filter(state="queued").exists()


@pytest.mark.parametrize("field", ["paused_at", "deleted_at"])
def test_a_paused_or_deleted_job_gets_no_retry(field: str) -> None:
    job = make_job()
    run = make_run(job, "running")
    Job.objects.filter(id=job.id).update(**{field: NOW})
    assert transitions.finish(run.id, fence_of(run), Verdict(RunState.FAILED, "x", failure=NETWORK), now=LATER)
    assert not Run.objects.filter(state="queued").exists()


def test_a_shutdown_queues_again_at_most_three_times() -> None:
    """A16."""
    job = make_job()
    shut_down = Verdict(RunState.CANCELLED, "cancelled_shutdown", cancel_origin=CancelOrigin.SHUTDOWN)
    run: Run | None = make_run(job, "running", attempt=2)
    chain: list[tuple[int, int]] = []
    while run is not None:
        if run.state == RunState.QUEUED:
            assert transitions.admit(run.id, 500 + len(chain), job.revisions.get().id, now=NOW)
            assert transitions.start(run.id, 500 + len(chain), "alpha:7", now=NOW)
        chain.append((run.attempt, run.requeues))
        assert transitions.finish(run.id, fence_of(again(run)), shut_down, now=NOW)
        run = Run.objects.filter(origin_run=run).first()
    assert chain == [(2, 0), (2, 1), (2, 2), (2, 3)]


def test_a_cancel_that_was_answered_outweighs_the_result() -> None:
    """A11: also when the executor never saw it, and nothing is tried again."""
    run = make_run(state="running")
    task = make_task_run(run)
    transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=NOW)
    verdict = conclude(run.id, fence_of(run), ExecutionResult(sources=(good(task),)), now=LATER)
    assert verdict is not None
    assert again(run).state == RunState.CANCELLED
    # What was committed stays listed.
    assert run.task_runs.get().state == TaskState.SUCCEEDED
    assert not Run.objects.filter(state="queued").exists()


def test_an_orphan_fails_transiently_and_is_retried() -> None:
    """A15: marked, never deleted."""
    run = make_run(state="running")
    make_task_run(run, state="running", started_at=NOW)
    assert not transitions.orphan(run.id, fence_of(run), NOW, now=LATER)
    assert transitions.orphan(run.id, fence_of(run), NOW + dt.timedelta(seconds=1), now=LATER)
    dead = again(run)
    assert (dead.state, dead.failure_class, dead.error_code) == ("failed", "transient", "WORKER_LOST")
    assert dead.task_runs.get().state == TaskState.FAILED
    assert Run.objects.get(origin_run=run).trigger == "retry"


def test_an_orphan_that_was_to_be_cancelled_is_cancelled() -> None:
    run = make_run(state="running", cancel_requested_at=NOW, cancel_origin="user")
    assert transitions.orphan(run.id, fence_of(run), LATER, now=LATER)
    assert again(run).state == RunState.CANCELLED
    assert not Run.objects.filter(state="queued").exists()


def test_conclude_writes_verdict_and_sources_together() -> None:
    """A6, H2."""
    run = make_run(state="running")
    first, second = make_task_run(run), make_task_run(run, make_source())
    failure = Failure("SOURCE_MISSING", "It is gone.", FailureClass.SOURCE)
    result = ExecutionResult(
        sources=(
            good(first, figures=Figures(files=4, skipped=2), skip_reasons={"permission": 2}),
            SourceResult(second.id, TaskState.FAILED, failure=failure),
        )
    )
    verdict = conclude(run.id, fence_of(run), result, now=LATER)
    assert verdict is not None
    done = again(run)
    assert (done.state, done.skipped, done.files) == (RunState.PARTIAL_FAILURE, 3, 4)
    assert done.reason_parameters["reasons"] == {"permission": 2, "SOURCE_MISSING": 1}
    states = list(done.task_runs.order_by("position").values_list("state", "skipped", "error_code"))
    assert states == [("partial_failure", 2, ""), ("failed", 0, "SOURCE_MISSING")]


def test_a_source_that_nobody_reported_has_failed() -> None:
    """A3."""
    run = make_run(state="running")
    first = make_task_run(run)
    make_task_run(run, make_source())
    conclude(run.id, fence_of(run), ExecutionResult(sources=(good(first),)), now=LATER)
    assert again(run).state == RunState.PARTIAL_FAILURE
    assert run.task_runs.get(position=1).error_code == "SOURCE_NOT_REPORTED"


def test_sources_are_told_one_by_one_and_ends_stay() -> None:
    run = make_run(state="running")
    task = make_task_run(run)
    fence = fence_of(run)
    assert task_runs.source_started(run.id, fence, task.id, now=NOW)
    assert not task_runs.source_started(run.id, fence, task.id, now=LATER)
    ahead = LATER + dt.timedelta(hours=1)
    done = good(task, started_at=ahead, finished_at=ahead, figures=Figures(files=1, new_chunks=2))
    assert task_runs.source_finished(run.id, fence, done, now=LATER)
    assert not task_runs.source_finished(run.id, fence, SourceResult(task.id, TaskState.CANCELLED), now=LATER)
    task.refresh_from_db()
    # The executing host's clock was ahead: the database's bounds it.
    assert (task.state, task.started_at, task.finished_at, task.new_chunks) == ("succeeded", NOW, LATER, 2)


DAMAGED = Failure("INTEGRITY", "3 packs are lost.", FailureClass.INTEGRITY)


def damaged(run: Run) -> ExecutionResult:
    return ExecutionResult(failure=DAMAGED, damage=Damage(run.repository_id, "A check run found INTEGRITY: 3 lost."))


def test_damage_freezes_in_the_transaction_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """G5: there is no moment at which the failed check is told and a backup could start."""
    run = make_run(kind="check", state="running")

    def fails(*_arguments: object, **_named: object) -> bool:
        raise OSError("the worker dies here")

    with monkeypatch.context() as patch:
        patch.setattr(transitions, "finish", fails)
        with pytest.raises(OSError, match="dies"):
            conclude(run.id, fence_of(run), damaged(run), now=LATER)
    assert not RepositoryFreeze.objects.exists()
    assert conclude(run.id, fence_of(run), damaged(run), now=LATER)
    row = RepositoryFreeze.objects.get()
    assert (row.repository_id, row.run_id, row.frozen_at) == (run.repository_id, run.id, LATER)
    events = RunEvent.objects.filter(run=run).order_by("id")
    assert [(event.code, event.parameters.get("reason")) for event in events] == [
        ("repository_frozen", row.reason),
        ("failed", "executor_failed"),
    ]


def test_a_run_that_is_no_longer_its_executors_freezes_nothing() -> None:
    run = make_run(kind="check", state="running")
    assert conclude(run.id, fence_of(run) + 1, damaged(run), now=LATER) is None
    assert not RepositoryFreeze.objects.exists()


def test_a_run_freezes_once() -> None:
    """What it saw when it opened the repository was told then."""
    run = make_run(kind="check", state="running")
    repository_freeze(repository_id=run.repository_id, reason="an earlier state", run_id=run.id, now=NOW)
    assert conclude(run.id, fence_of(run), damaged(run), now=LATER)
    assert [row.reason for row in RepositoryFreeze.objects.all()] == ["an earlier state"]
