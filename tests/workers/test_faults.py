"""What happens to runs when processes die, stop and come back (1.18). Everything here is real."""

import os
import signal
from pathlib import Path

from jobs.database_time import database_now
from jobs.models import Run, WorkerProcess
from jobs.services import run_cancel
from jobs.states import FailureClass, RunState, Trigger
from syncova_project.embedded import processes
from tests.workers import scenario
from tests.workers.harness import Stack, eventually


def test_a_killed_worker_is_noticed_and_the_run_retried(stack: Stack, tmp_path: Path) -> None:
    """A12, A15: kill -9 in mid-run → failed (transient) with its reason → retried → succeeded, no half backup."""
    stack.start_worker("work", group="killed")
    place = scenario.ground(tmp_path, "killed")
    asked = scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE)
    run = scenario.running(scenario.request(asked))
    engine = scenario.engine_of(run)
    stack.kill_session("work")
    eventually(lambda: not processes.is_alive(engine), what="the engine dies with its supervisor")

    lost = scenario.finished(run)
    assert (lost.state, lost.failure_class, lost.error_code) == (
        RunState.FAILED,
        FailureClass.TRANSIENT,
        "WORKER_LOST",
    )
    assert place.backup_ids() == []
    scenario.without_brake(asked)
    retry = scenario.successor_of(lost)
    assert (retry.trigger, retry.attempt) == (Trigger.RETRY, 2)
    stack.start_worker("again", group="killed")
    assert scenario.finished(retry).state == RunState.SUCCEEDED
    assert len(place.backup_ids()) == 1


def test_the_next_worker_ends_the_runs_of_the_killed_one_at_once(stack: Stack, tmp_path: Path) -> None:
    """A15: the proof does not wait for the silence; here nobody even counts it."""
    stack.start_worker("work", group="buried")
    place = scenario.ground(tmp_path, "buried")
    asked = scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE)
    run = scenario.running(scenario.request(asked))
    control = stack.running["control"].pid
    os.killpg(control, signal.SIGSTOP)
    try:
        dead = stack.running["work"].pid
        stack.kill_session("work")
        stack.start_worker("again", group="buried")
        lost = scenario.finished(run)
        assert (lost.state, lost.error_code) == (RunState.FAILED, "WORKER_LOST")
        assert "is gone" in lost.error_message
        eventually(lambda: WorkerProcess.objects.filter(runner__name="buried").exclude(process_id=dead).exists())
        assert not WorkerProcess.objects.filter(process_id=dead, runner__name="buried").exists()
    finally:
        os.killpg(control, signal.SIGCONT)


def test_cancel_stops_the_engine_and_is_final(stack: Stack, tmp_path: Path) -> None:
    """E2: cancelled is written after the engine is gone; the run is not queued again."""
    stack.start_worker("work", group="cancel")
    place = scenario.ground(tmp_path, "cancel")
    asked = scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE)
    run = scenario.running(scenario.request(asked))
    engine = scenario.engine_of(run)
    run_cancel(run_id=run.id, actor="somebody", now=database_now())
    ended = scenario.finished(run)
    assert not processes.is_alive(engine)
    assert (ended.state, ended.cancel_origin, ended.cancelled_by) == (RunState.CANCELLED, "user", "somebody")
    assert not Run.objects.filter(origin_run=run).exists()
    assert place.backup_ids() == []


def test_sigterm_cancels_and_queues_again(stack: Stack, tmp_path: Path) -> None:
    """A16: SIGTERM to the main process in mid-run → cancelled, no half backup, the next run queued and executed."""
    stack.start_worker("work", group="term")
    place = scenario.ground(tmp_path, "term")
    asked = scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE)
    run = scenario.running(scenario.request(asked))
    main_process = stack.running["work"]
    stack.signal("work", signal.SIGTERM)
    ended = scenario.finished(run, seconds=30)
    assert (ended.state, ended.cancel_origin) == (RunState.CANCELLED, "shutdown")
    assert place.backup_ids() == []
    following = Run.objects.get(origin_run=run)
    assert (following.trigger, following.attempt) == (Trigger.REQUEUE, run.attempt)
    eventually(lambda: not processes.is_alive(main_process), what="the worker ends by itself")
    assert not WorkerProcess.objects.filter(runner__name="term").exists()
    following.refresh_from_db()
    assert following.admitted_at is None, "it was admitted onto the worker that was shutting down"
    scenario.without_brake(asked)
    stack.start_worker("again", group="term")
    assert scenario.finished(following).state == RunState.SUCCEEDED


def test_a_stopped_supervisor_that_wakes_changes_no_row(stack: Stack, tmp_path: Path) -> None:
    """The fence: stopped beyond its lease and continued, it writes nothing and its engine commits nothing."""
    stack.start_worker("work", group="zombie")
    place = scenario.ground(tmp_path, "zombie")
    asked = scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE, max_attempts=1)
    run = scenario.running(scenario.request(asked))
    supervisor, engine = scenario.supervisor_of(run), scenario.engine_of(run)
    os.kill(supervisor, signal.SIGSTOP)
    lost = scenario.finished(run)
    assert lost.error_code == "WORKER_LOST"
    before = scenario.rows_of(run)
    os.kill(supervisor, signal.SIGCONT)
    eventually(lambda: not processes.is_alive(engine), what="the woken supervisor ends its engine")
    eventually(lambda: f"Run {run.id} was lost" in stack.log("work"), what="it says that it lost its lease")
    assert scenario.rows_of(run) == before
    assert place.backup_ids() == []
