"""One pass of the loop on real rows, with recording executor and bells (A1, A2, A3, A15)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import transitions
from jobs.conclusion import conclude
from jobs.execution import execution_request
from jobs.executors import (
    ExecutionControl,
    ExecutionRequest,
    ExecutionResult,
    Executor,
    NotConfiguredExecutor,
    Progress,
    RecordingExecutor,
    SourceResult,
)
from jobs.models import Run, SchedulerState
from jobs.pass_guard import begin_pass
from jobs.states import BackupMode, CancelOrigin, RunState, TaskState
from jobs.tick import run_pass
from tests.jobs import bells
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_worker

pytestmark = pytest.mark.django_db

SECOND = dt.timedelta(seconds=1)


class NoControl:
    """A control for executors that ask nothing."""

    def cancelled(self) -> CancelOrigin | None:
        return None

    def heartbeat(self, progress: Progress) -> None:
        return None

    def confirm(self) -> None:
        return None

    def log(self, level: str, message: str) -> None:
        return None


def backed_up(request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
    return ExecutionResult(
        sources=tuple(
            SourceResult(source.task_run_id, TaskState.SUCCEEDED, backup_id="b", manifest_id="m", mode=BackupMode.FULL)
            for source in request.sources
        )
    )


def work(executor: Executor, now: dt.datetime) -> int:
    """Do what workers do for every ring: start, execute, conclude."""
    heard, bells.rung[:] = list(bells.rung), []
    done = 0
    for run_id, fence, _ in heard:
        if transitions.start(run_id, fence, "alpha:7", now=now):
            request = execution_request(run_id, fence)
            assert request is not None
            conclude(run_id, fence, executor.execute(request, NoControl()), now=now)
            done += 1
    return done


@pytest.fixture
def tick(django_capture_on_commit_callbacks: Any) -> Any:
    """Return a function that does one pass as a worker would, with what it rings after its commits."""

    def once(now: dt.datetime) -> Any:
        with django_capture_on_commit_callbacks(execute=True):
            return run_pass(now=now)

    return once


def test_from_the_instant_to_the_verdict(tick: Any) -> None:
    """A1, A2: the loop knows an executor only by request and result."""
    make_worker(last_seen=NOW + 10 * SECOND)
    job = make_job(name="home", bandwidth_limit_bps=1000, strict=True)
    make_schedule(job)
    result = tick(NOW)
    assert (result.began, result.queued, result.admitted) == (True, 1, 1)
    executor = RecordingExecutor(backed_up)
    assert work(executor, NOW + 3 * SECOND) == 1
    (request,) = executor.requests
    assert (request.job_name, request.bandwidth_limit_bps, request.strict) == ("home", 1000, True)
    assert [source.path for source in request.sources] == [bytes(job.job_sources.get().source.normalised_id)]
    run = Run.objects.get()
    assert (run.state, run.started_at, run.scheduled_for) == (RunState.SUCCEEDED, NOW + 3 * SECOND, NOW)
    assert request.scheduled_for == NOW


def test_without_an_executor_nothing_pretends(tick: Any) -> None:
    """A3."""
    make_worker()
    make_run()
    tick(NOW)
    assert work(NotConfiguredExecutor(), NOW) == 1
    run = Run.objects.get()
    assert (run.state, run.error_code, run.failure_class) == ("failed", "EXECUTOR_NOT_CONFIGURED", "configuration")


def test_a_second_ring_starts_nothing_again(tick: Any) -> None:
    """Messages are hints: any number of copies, one start."""
    make_worker()
    make_run()
    tick(NOW)
    bells.rung.append(bells.rung[0])
    executor = RecordingExecutor(backed_up)
    assert work(executor, NOW) == 1
    assert len(executor.requests) == 1


def test_a_lost_message_is_rung_again_and_then_withdrawn(tick: Any) -> None:
    """execution.md, section 2, step 5."""
    worker = make_worker()
    run = make_run()
    tick(NOW)
    first = list(bells.rung)
    bells.rung.clear()
    tick(NOW + 20 * SECOND)
    assert bells.rung == []
    assert tick(NOW + 31 * SECOND).rung_again == 1
    assert bells.rung == first
    bells.rung.clear()
    assert tick(NOW + 45 * SECOND).rung_again == 0
    type(worker).objects.update(last_seen=NOW + 60 * SECOND, draining=True)
    assert tick(NOW + 61 * SECOND).withdrawn == 1
    run.refresh_from_db()
    assert (run.admitted_at, run.held_code) == (None, "no_worker")
    assert not transitions.start(run.id, first[0][1], "alpha:7", now=NOW + 62 * SECOND)


def test_a_ring_that_the_broker_refused_is_made_up(settings: Any, tick: Any) -> None:
    """A stopped broker loses no run: the next pass rings."""
    make_worker()
    run = make_run()
    settings.SYNCOVA_DOORBELL = "tests.jobs.bells.broken"
    tick(NOW)
    assert bells.rung == []
    settings.SYNCOVA_DOORBELL = "tests.jobs.bells.ring"
    assert tick(NOW + 10 * SECOND).rung_again == 1
    assert [ring[0] for ring in bells.rung] == [run.id]


def test_a_pass_a_moment_later_is_one_query(tick: Any, django_assert_num_queries: Any) -> None:
    """A backlog of ticks costs one query each."""
    assert tick(NOW).began
    with django_assert_num_queries(1):
        assert not run_pass(now=NOW + SECOND).began
    assert tick(NOW + 10 * SECOND).began


def test_a_wish_for_a_pass_is_never_lost(tick: Any, django_capture_on_commit_callbacks: Any) -> None:
    """Wishes are counted in the database: the next tick answers what a lost message would have said."""
    tick(NOW)
    run = make_run(state="running")
    with django_capture_on_commit_callbacks(execute=True):
        transitions.request_cancel(run.id, CancelOrigin.USER, "alice", now=NOW)
        assert bells.woken == []
        queued = make_run()
        transitions.request_cancel(queued.id, CancelOrigin.USER, "alice", now=NOW)
    assert bells.woken == [1]
    assert tick(NOW + SECOND).began
    assert not tick(NOW + 2 * SECOND).began


def test_a_clock_that_went_back_stops_no_pass() -> None:
    begin_pass(NOW + dt.timedelta(days=1))
    start = begin_pass(NOW)
    assert start is not None
    assert start.observed_since == NOW


def test_a_silent_run_is_orphaned_and_its_retry_follows(tick: Any) -> None:
    """A15."""
    run = make_run(state="running")
    for second in range(0, 330, 10):
        assert tick(NOW + second * SECOND).orphaned == (1 if second == 310 else 0)
    run.refresh_from_db()
    assert (run.state, run.failure_class) == ("failed", "transient")
    assert Run.objects.get(origin_run=run).trigger == "retry"


def test_a_run_that_gives_signs_is_left_alone(tick: Any) -> None:
    run = make_run(state="running")
    for second in range(0, 900, 10):
        if second % 30 == 0:
            assert transitions.heartbeat(run.id, run.fence or 0, None, now=NOW + second * SECOND)
        assert tick(NOW + second * SECOND).orphaned == 0


def test_silence_counts_only_while_it_is_observed(tick: Any) -> None:
    """The database was away for twice the limit: nobody could have written, so nobody is orphaned."""
    run = make_run(state="running")
    for second in range(0, 60, 10):
        tick(NOW + second * SECOND)
    away = NOW + 660 * SECOND
    for second in range(0, 290, 10):
        assert tick(away + second * SECOND).orphaned == 0
    assert transitions.heartbeat(run.id, run.fence or 0, None, now=away + 290 * SECOND)
    for second in range(290, 590, 10):
        assert tick(away + second * SECOND).orphaned == 0
    state = SchedulerState.objects.get()
    assert state.observed_since == away


def test_a_run_that_stays_silent_after_the_gap_is_orphaned_then(tick: Any) -> None:
    make_run(state="running")
    tick(NOW)
    away = NOW + 660 * SECOND
    orphaned = [second for second in range(0, 400, 10) if tick(away + second * SECOND).orphaned]
    assert orphaned == [310]


def test_a_run_is_withdrawn_before_admission_so_that_its_slot_is_given_on(tick: Any) -> None:
    make_worker(slots=1, last_seen=NOW + 60 * SECOND)
    first = make_run()
    tick(NOW)
    second = make_run(priority="critical")
    result = tick(NOW + 60 * SECOND)
    assert (result.withdrawn, result.admitted) == (1, 1)
    second.refresh_from_db()
    first.refresh_from_db()
    assert (second.admitted_at, first.held_code) == (NOW + 60 * SECOND, "no_slot")


def test_an_idle_pass_asks_little_and_opens_no_transaction() -> None:
    """6.12: one comes every ten seconds, for years; what waits or is due is found before anything is locked for it."""
    make_worker(last_seen=NOW + dt.timedelta(days=1))
    make_schedule(next_at=NOW + dt.timedelta(days=1))
    for number in (0, 1):
        run_pass(now=NOW + number * 10 * SECOND)
    with CaptureQueriesContext(connection) as asked:
        assert run_pass(now=NOW + 20 * SECOND).began
    assert len(asked) <= 20
    assert not [each["sql"] for each in asked if "SAVEPOINT" in each["sql"] or "advisory" in each["sql"]]
