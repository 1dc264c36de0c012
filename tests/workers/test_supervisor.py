"""The supervisor with executors of the test and a real database: whatever an executor does becomes a verdict."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs.conclusion import conclude
from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, NotConfiguredExecutor, RecordingExecutor
from jobs.leases import LeaseLostError
from jobs.models import Run, TaskRun
from jobs.run_log import read
from jobs.states import FailureClass, RunState
from jobs.task_runs import source_started
from syncova_project.errors import ConfigurationError
from tests.jobs import moves
from tests.jobs.builders import NOW, make_job, make_run, make_task_run
from workers import drain, supervisor
from workers.desk import LeaseDesk
from workers.run_control import MainProcessLostError

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quiet(settings: Any) -> None:
    settings.SYNCOVA_DOORBELL = settings.SYNCOVA_WAKE = settings.SYNCOVA_INSPECT = ""
    settings.SYNCOVA_EXECUTOR = "workers.executor.EngineExecutor"


@pytest.fixture
def admitted() -> Run:
    run = make_run(admitted=True)
    make_task_run(run, run.job.job_sources.get().source if run.job else None)
    return run


Work = Callable[[ExecutionRequest, ExecutionControl], ExecutionResult]


def supervised(run: Run, monkeypatch: pytest.MonkeyPatch, work: Work) -> tuple[Run, RecordingExecutor]:
    executor = RecordingExecutor(work)
    monkeypatch.setattr(supervisor, "configured_executor", lambda: executor)
    supervisor.supervise(run.id, moves.fence_of(run))
    return moves.again(run), executor


def succeed(request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
    control.log("info", "worked")
    control.confirm()
    return ExecutionResult(sources=tuple(moves.good(task) for task in TaskRun.objects.filter(run_id=request.run_id)))


def test_a_run_is_started_executed_and_concluded(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, executor = supervised(admitted, monkeypatch, succeed)
    assert (ended.state, [request.fence for request in executor.requests]) == (RunState.SUCCEEDED, [admitted.fence])
    assert moves.codes(ended) == ["started", "succeeded"]
    assert [line.message for line in read(ended.id)] == ["worked"]


def test_a_message_that_comes_twice_or_late_does_nothing(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is a hint: a run that has ended, or has a newer fence, is not touched."""
    ended, executor = supervised(admitted, monkeypatch, succeed)
    supervisor.supervise(ended.id, moves.fence_of(ended))
    other = make_run(admitted=True)
    supervisor.supervise(other.id, moves.fence_of(other) + 1)
    assert len(executor.requests) == 1
    assert moves.again(other).state == RunState.QUEUED


def test_nothing_starts_while_the_worker_shuts_down(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drain.request()
    try:
        left, executor = supervised(admitted, monkeypatch, succeed)
    finally:
        drain.reset()
    assert (left.state, executor.requests) == (RunState.QUEUED, ())


def test_a_defect_of_an_executor_is_told(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        raise ZeroDivisionError("of all things \0")

    ended, _ = supervised(admitted, monkeypatch, broken)
    assert (ended.state, ended.error_code, ended.failure_class) == ("failed", "EXECUTOR_CRASHED", FailureClass.UNKNOWN)
    assert "ZeroDivisionError: of all things" in ended.error_message


def test_an_engine_that_cannot_be_started_is_tried_again(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def starved(request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        raise OSError(12, "Cannot allocate memory")

    ended, _ = supervised(admitted, monkeypatch, starved)
    assert (ended.error_code, ended.failure_class) == ("ENGINE_NOT_STARTED", FailureClass.TRANSIENT)
    assert Run.objects.filter(origin_run=ended, trigger="retry").exists()


def test_a_dead_main_process_leaves_hooks_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """6.4: the run's reason names those that come after, since nobody runs them any more."""
    run = make_run(make_job(hooks=[{"moment": "after_job", "name": "thaw"}]), admitted=True)

    def die(_request: ExecutionRequest, _control: ExecutionControl) -> ExecutionResult:
        raise MainProcessLostError("gone")

    ended, _executor = supervised(run, monkeypatch, die)
    assert (ended.error_code, ended.failure_class) == ("WORKER_LOST", FailureClass.TRANSIENT)
    assert "Its hooks for afterwards (thaw) did not run" in ended.error_message
    assert ended.reason_parameters == {"hooks_not_run": "thaw"}


def test_a_lost_lease_writes_nothing_more(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fence: another hand ends the run under the executor, whose result is then worth nothing."""

    def overtaken(request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        Run.objects.filter(id=request.run_id).update(fence=request.fence + 1)
        control.log("info", "too late")
        with pytest.raises(LeaseLostError):
            control.confirm()
        return succeed(request, control)

    left, _ = supervised(admitted, monkeypatch, overtaken)
    assert left.state == RunState.RUNNING
    assert moves.codes(left) == ["started"]
    assert list(read(left.id)) == []


def test_a_result_that_the_database_refuses_becomes_a_failure(admitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = conclude

    def refusing(run_id: Any, fence: int, result: ExecutionResult, **told: Any) -> Any:
        if result.failure is None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return real(run_id, fence, result, **told)

    monkeypatch.setattr(supervisor, "conclude", refusing)
    ended, _ = supervised(admitted, monkeypatch, succeed)
    assert (ended.state, ended.error_code) == (RunState.FAILED, "RESULT_REFUSED")
    assert ended.error_message.endswith("of the run's end: division by zero (SQLSTATE 22012)")
    assert "Start it again" in ended.error_hint


def test_without_an_executor_every_run_fails(admitted: Run, settings: Any) -> None:
    """A3."""
    settings.SYNCOVA_EXECUTOR = ""
    assert isinstance(supervisor.configured_executor(), NotConfiguredExecutor)
    supervisor.supervise(admitted.id, moves.fence_of(admitted))
    assert moves.again(admitted).error_code == "EXECUTOR_NOT_CONFIGURED"


def test_an_executor_that_cannot_be_made_fails_the_run(admitted: Run, settings: Any) -> None:
    """A5: should the keys be taken away from a running worker."""
    settings.SYNCOVA_SECRET_KEYS = []
    with pytest.raises(ConfigurationError):
        supervisor.configured_executor()
    supervisor.supervise(admitted.id, moves.fence_of(admitted))
    assert moves.again(admitted).failure_class == FailureClass.CONFIGURATION


def test_a_record_is_written_only_with_a_proof_of_the_lease() -> None:
    run = make_run(state=RunState.RUNNING)
    task = make_task_run(run)
    stale, fresh = LeaseDesk(run.id, moves.fence_of(run) + 1), LeaseDesk(run.id, moves.fence_of(run))

    def write() -> None:
        TaskRun.objects.filter(id=task.id).update(chain="written")

    assert stale.record(write) is False
    assert TaskRun.objects.get().chain == ""
    assert fresh.record(write) is True
    assert TaskRun.objects.get().chain == "written"


def test_a_record_that_fails_leaves_nothing_behind_and_the_lease_alone() -> None:
    """A9."""
    run = make_run(state=RunState.RUNNING)
    task = make_task_run(run)

    def half() -> None:
        source_started(run.id, moves.fence_of(run), task.id, now=NOW)
        TaskRun.objects.filter(id=task.id).update(state="no such state")

    assert LeaseDesk(run.id, moves.fence_of(run)).record(half) is True
    assert TaskRun.objects.get().state == "pending"
