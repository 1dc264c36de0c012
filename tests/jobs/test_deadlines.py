"""Start deadlines and maximum runtimes; what a shutdown of a worker leaves behind (6.3, C5, A16)."""

import datetime as dt
from functools import partial

import pytest

from jobs import transitions
from jobs.admission import admit_waiting
from jobs.conclusion import conclude
from jobs.deadlines import expire_late, is_late
from jobs.executors import ExecutionResult, Failure, Progress
from jobs.models import Run
from jobs.selectors import stalled_since
from jobs.states import CancelOrigin, FailureClass, RunKind, RunState
from jobs.tick import run_pass
from jobs.verdict import Verdict
from tests.jobs.builders import NOW, make_job, make_run, make_task_run, make_worker
from tests.jobs.moves import again, codes, fence_of
from tests.jobs.rivals import at_once

SECOND = dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)


def test_time_counts_since_the_run_is_there_and_its_time_has_come() -> None:
    assert not is_late(NOW, NOW, 60, NOW + 60 * SECOND)
    assert is_late(NOW, NOW, 60, NOW + 61 * SECOND)
    # Postponed by a window or a back-off: that was decided.
    assert not is_late(NOW, NOW + HOUR, 60, NOW + HOUR)
    # Claimed late, since nothing ran: the schedule's rule for missed instants has judged that.
    assert not is_late(NOW + HOUR, NOW, 60, NOW + HOUR)


@pytest.mark.django_db
@pytest.mark.parametrize("admitted", [False, True])
def test_a_run_that_could_not_start_fails_with_what_it_waited_for(admitted: bool) -> None:
    """C5: its class is never retried; the next planned run comes as planned."""
    run = make_run(make_job(start_deadline_seconds=3600), admitted=admitted)
    if not admitted:
        admit_waiting(now=NOW)
    assert expire_late(now=NOW + HOUR) == 0
    assert expire_late(now=NOW + HOUR + SECOND) == 1
    late = again(run)
    assert (late.state, late.failure_class, late.error_code) == ("failed", "start_deadline", "START_DEADLINE")
    why = "" if admitted else " What it was told last: Waits for a worker of the group default: none is there."
    assert late.error_message == f"The run did not start within 1 h 00 min of its time.{why}"
    assert codes(run) == ["failed"]
    assert not Run.objects.filter(state="queued").exists()
    assert late.job is not None
    assert late.job.last_state == "failed"


@pytest.mark.django_db
def test_only_the_late_ones_of_jobs_that_have_a_deadline_end() -> None:
    free, bounded = make_run(), make_job(start_deadline_seconds=60)
    running = make_run(bounded, "running")
    postponed = make_run(make_job(start_deadline_seconds=60), not_before=NOW + HOUR)
    check = make_run(kind="check")
    assert expire_late(now=NOW + HOUR) == 0
    states = [again(run).state for run in (free, running, postponed, check)]
    assert states == ["queued", "running", "queued", "queued"]


@pytest.mark.django_db
def test_a_pass_ends_late_runs_before_it_admits() -> None:
    make_worker(last_seen=NOW + HOUR)
    late, fresh = make_run(make_job(start_deadline_seconds=60)), make_run()
    run_pass(now=NOW + HOUR)
    assert (again(late).error_code, late.admitted_at) == ("START_DEADLINE", None)
    assert again(fresh).admitted_at == NOW + HOUR


@pytest.mark.django_db(transaction=True)
def test_a_start_and_the_deadline_at_the_same_moment_are_one_or_the_other() -> None:
    for _ in range(5):
        run = make_run(make_job(start_deadline_seconds=60, max_attempts=1), admitted=True)
        start = partial(transitions.start, run.id, fence_of(run), "alpha:1", now=NOW + HOUR)
        started, ended = at_once([start, partial(expire_late, now=NOW + HOUR)])
        assert (bool(started), bool(ended)) in {(True, False), (False, True)}
        assert again(run).state == ("running" if started else "failed")


@pytest.mark.django_db
def test_a_run_over_its_time_fails_and_is_not_tried_again() -> None:
    """Its class is no fault that waiting mends."""
    run = make_run(make_job(max_runtime_seconds=60), "running")
    make_task_run(run)
    result = ExecutionResult(cancelled=CancelOrigin.OVER_RUNTIME)
    verdict = conclude(run.id, fence_of(run), result, now=NOW + HOUR)
    assert verdict is not None
    assert (again(run).state, run.failure_class, run.error_code) == ("failed", "over_runtime", "OVER_RUNTIME")
    assert not Run.objects.filter(state="queued").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [RunKind.CHECK, RunKind.PRUNE, RunKind.COPY])
def test_a_shutdown_queues_runs_without_a_job_again_too(kind: RunKind) -> None:
    """A16: the worker's end is no fault of what it was asked to do."""
    run = make_run(state="running", kind=kind, parameters={"depth": "quick"})
    shut_down = Verdict(RunState.CANCELLED, "cancelled_shutdown", cancel_origin=CancelOrigin.SHUTDOWN)
    assert transitions.finish(run.id, fence_of(run), shut_down, now=NOW)
    following = Run.objects.get(origin_run=run)
    assert (following.trigger, following.attempt, following.requeues) == ("requeue", 1, 1)
    assert (following.parameters, following.kind) == ({"depth": "quick"}, kind)
    assert again(run).reason_parameters == {"requeued": True}


@pytest.mark.django_db
def test_the_last_of_several_shutdowns_says_that_it_is_not_queued_again() -> None:
    run = make_run(state="running", requeues=3)
    shut_down = Verdict(RunState.CANCELLED, "cancelled_shutdown", cancel_origin=CancelOrigin.SHUTDOWN)
    assert transitions.finish(run.id, fence_of(run), shut_down, now=NOW)
    assert again(run).reason_parameters == {"requeued": False}
    assert not Run.objects.filter(state="queued").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("failure_class", FailureClass)
def test_each_class_is_retried_or_not_as_c5_says(failure_class: FailureClass) -> None:
    run = make_run(state="running")
    verdict = Verdict(RunState.FAILED, "x", failure=Failure("X", "x", failure_class))
    assert transitions.finish(run.id, fence_of(run), verdict, now=NOW)
    retried = Run.objects.filter(origin_run=run, trigger="retry").exists()
    assert retried == (failure_class in {"transient", "network", "repository", "source"})


@pytest.mark.django_db
def test_the_same_progress_again_is_a_sign_of_life_and_no_progress() -> None:
    """What `stalled_since` is reckoned from."""
    run = make_run(state="running")
    beat = partial(transitions.heartbeat, run.id, fence_of(run))
    assert beat(Progress("reading", files=3), now=NOW + SECOND)
    assert beat(Progress("reading", files=3), now=NOW + HOUR)
    stuck = again(run)
    assert (stuck.progress_at, stuck.heartbeat_at) == (NOW + SECOND, NOW + HOUR)
    assert stalled_since(stuck, NOW + HOUR) == NOW + SECOND
    assert beat(Progress("reading", files=4), now=NOW + HOUR)
    assert again(run).progress_at == NOW + HOUR
    assert stalled_since(run, NOW + HOUR + 60 * SECOND) is None


@pytest.mark.django_db
def test_a_run_that_told_nothing_at_all_has_stalled_since_its_start() -> None:
    running, waiting = make_run(state="running"), make_run()
    assert stalled_since(running, NOW + dt.timedelta(minutes=15)) == NOW
    assert stalled_since(running, NOW + dt.timedelta(minutes=14)) is None
    assert stalled_since(waiting, NOW + HOUR) is None
