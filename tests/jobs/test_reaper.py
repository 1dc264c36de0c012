"""Runs of processes that are proved to be gone end at once; all others are left to silence (A15)."""

import datetime as dt
from typing import Any

import pytest

from jobs.models import Run, RunEvent, WorkerProcess
from jobs.occupancy import count_occupancy
from jobs.reaper import bury
from jobs.sentences import reason_sentence
from jobs.states import RunState, Trigger
from tests.jobs.builders import NOW, make_job, make_run, make_runner, make_worker

pytestmark = pytest.mark.django_db

HERE, DEAD, ALIVE = "alpha boot 1 ", "alpha boot 1 7 70", "alpha boot 1 8 80"
ELSEWHERE = "beta boot 1 7 70"
LATER = NOW + dt.timedelta(seconds=1)


def is_gone(mark: str) -> bool:
    assert mark.startswith(HERE)
    return mark == DEAD


def test_a_run_of_a_dead_process_ends_and_is_retried() -> None:
    run = make_run(make_job(max_attempts=3), RunState.RUNNING, worker_mark=DEAD)
    assert bury(HERE, is_gone, now=LATER) == 1
    ended = Run.objects.get(id=run.id)
    assert (ended.state, ended.failure_class, ended.error_code) == ("failed", "transient", "WORKER_LOST")
    assert "alpha:1 is gone" in ended.error_message
    assert RunEvent.objects.get(run=run, code="failed").actor == "reaper"
    retry = Run.objects.get(origin_run=run)
    assert (retry.trigger, retry.attempt) == (Trigger.RETRY, 2)
    assert bury(HERE, is_gone, now=LATER) == 0


@pytest.mark.parametrize("asked", [{}, {"cancel_requested_at": NOW, "cancel_origin": "user", "cancelled_by": "alice"}])
def test_the_hooks_that_nobody_runs_now_are_named(asked: dict[str, Any]) -> None:
    """6.4: in the reason and in the event; before it, there is nothing that somebody would have to undo."""
    moments = [("before_job", "freeze"), ("after_source", "thaw"), ("after_job", "thaw"), ("on_failure", "tell-me")]
    hooks = [{"moment": moment, "name": name} for moment, name in moments]
    run = make_run(make_job(hooks=hooks), RunState.RUNNING, worker_mark=DEAD, **asked)
    assert bury(HERE, is_gone, now=LATER) == 1
    ended = Run.objects.get(id=run.id)
    sentence = "Its hooks for afterwards (thaw, tell-me) did not run, or not surely to their end: its worker is lost."
    assert reason_sentence(ended).endswith(f". {sentence}")
    event = RunEvent.objects.get(run=run, code=ended.state)
    assert event.parameters["hooks_not_run"] == "thaw, tell-me"


def test_a_run_to_be_cancelled_is_cancelled_then() -> None:
    run = make_run(state=RunState.RUNNING, worker_mark=DEAD, cancel_requested_at=NOW, cancel_origin="user")
    assert bury(HERE, is_gone, now=LATER) == 1
    assert Run.objects.get(id=run.id).state == RunState.CANCELLED


@pytest.mark.parametrize("mark", [ALIVE, ELSEWHERE, "alpha earlier 1 7 70", "alpha boot 2 7 70", ""])
def test_without_proof_nothing_is_touched(mark: str) -> None:
    run = make_run(state=RunState.RUNNING, worker_mark=mark)
    make_worker(mark=mark)
    assert bury(HERE, is_gone, now=LATER) == 0
    assert bury("", is_gone, now=LATER) == 0
    assert Run.objects.get(id=run.id).state == RunState.RUNNING
    assert WorkerProcess.objects.count() == 1


def test_the_rows_of_dead_workers_go_so_that_no_run_is_admitted_to_them() -> None:
    runner = make_runner()
    make_worker(runner, slots=4, mark=DEAD)
    make_worker(runner, slots=2, mark=ALIVE)
    bury(HERE, is_gone, now=LATER)
    assert count_occupancy(now=LATER).runner_slots(runner.id, "default").total == 2


def test_an_orphan_of_a_silent_host_takes_no_slot_of_the_others() -> None:
    runner = make_runner()
    make_worker(runner, slots=2, host="beta")
    make_worker(runner, slots=2, host="alpha", last_seen=NOW - dt.timedelta(minutes=1))
    make_run(state=RunState.RUNNING, worker="alpha:1")
    make_run(state=RunState.RUNNING, worker="beta:1")
    occupancy = count_occupancy(now=NOW)
    slots = occupancy.runner_slots(runner.id, "default")
    assert (slots.total, occupancy.runners[runner.id], occupancy.installation) == (2, 1, 2)
