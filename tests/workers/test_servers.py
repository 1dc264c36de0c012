"""What happens to runs and passes when servers stop, forget and come back, and when everything runs twice (1.18)."""

import datetime as dt
import signal
from pathlib import Path

import pytest
from django.db.models import F

from jobs.database_time import database_now
from jobs.models import Run, Schedule, SchedulerState
from jobs.services import WorkerInput, worker_gone, worker_seen
from jobs.states import RunState, Trigger
from syncova_project import clock
from tests.workers import scenario
from tests.workers.harness import SHORT_TIMES, Stack, eventually
from workers import doorbell

ORPHAN_SECONDS = int(SHORT_TIMES["SYNCOVA_ORPHAN_SECONDS"])


@pytest.fixture(autouse=True)
def fresh_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "_quiet", doorbell._Quiet())


def test_a_database_outage_beyond_the_orphan_limit_fails_nothing(stack: Stack, tmp_path: Path) -> None:
    """A15, A16: PostgreSQL stopped for longer than the limit with two runs going: both end succeeded.

    One run has all its data and waits for its confirmation, the other still reads when the database is back.
    """
    stack.start_worker("work", group="outage")
    runs = []
    for name, rate in (("first", 1_500_000), ("second", 500_000)):
        place = scenario.ground(tmp_path, "outage", name=f"repository-{name}")
        tree = scenario.large_tree(tmp_path, name, size=6_000_000)
        runs.append((place, scenario.request(scenario.job(place, tree, bandwidth=rate))))
    for _, run in runs:
        scenario.running(run)
    stack.stop_database()
    clock.sleep(ORPHAN_SECONDS + 2)
    stack.start_database()
    for place, run in runs:
        ended = scenario.finished(run)
        assert (ended.state, ended.error_message) == (RunState.SUCCEEDED, "")
        assert scenario.codes(ended) == ["queued", "admitted", "started", "succeeded"]
        assert [task.backup_id for task in scenario.tasks(ended)] == place.backup_ids()


def test_a_flushed_broker_loses_no_run(stack: Stack, tmp_path: Path) -> None:
    """Valkey is transport only: waiting runs were never in it, an admitted one is rung for again."""
    # Slots with nobody behind them: the message of the admitted run stays in Valkey until the flush.
    ghost = WorkerInput(group="flush", host="nowhere", process_id=1, slots=1)
    worker_seen(ghost, now=database_now())
    tree = scenario.small_tree(tmp_path)
    places = [scenario.ground(tmp_path, "flush", name=f"repository-{number}") for number in range(3)]
    runs = [scenario.request(scenario.job(place, tree)) for place in places]
    admitted = eventually(lambda: Run.objects.filter(id__in=[run.id for run in runs], rings=1).first())
    assert stack.broker_client().llen("work.flush") == 1
    stack.broker_client().flushall()
    worker_gone(group=ghost.group, host=ghost.host, process_id=ghost.process_id)
    stack.start_worker("work", group="flush", slots=1)
    # Half a minute passes.
    Run.objects.filter(id=admitted.id).update(admitted_at=F("admitted_at") - dt.timedelta(seconds=31))
    assert [scenario.finished(run).state for run in runs] == [RunState.SUCCEEDED] * 3


def test_a_stopped_broker_stops_neither_requests_nor_passes(stack: Stack, tmp_path: Path) -> None:
    """Valkey stopped (SIGSTOP): requests are taken, passes go on without it, and the run starts once it is back.

    A restarted Valkey is found again by every process.
    """
    stack.start_worker("work", group="still")
    place = scenario.ground(tmp_path, "still")
    asked = scenario.job(place, scenario.small_tree(tmp_path))
    scenario.serving("still")
    stack.broker_signal(signal.SIGSTOP)
    try:
        run = scenario.request(asked)
        # A pass that the request itself woke may still be on; a later one was made without any message.
        later = database_now() + dt.timedelta(seconds=1)
        eventually(lambda: passed_since(later), what="a pass without the broker")
        assert Run.objects.get(id=run.id).state == RunState.QUEUED
    finally:
        stack.broker_signal(signal.SIGCONT)
    assert scenario.finished(run).state == RunState.SUCCEEDED
    stack.restart_broker()
    assert scenario.finished(scenario.request(asked)).state == RunState.SUCCEEDED


def test_everything_twice_does_nothing_twice(stack: Stack, tmp_path: Path) -> None:
    """D1: two beats, two control and two work workers, doubled messages: each instant is one run, started once."""
    stack.start_control("control-2")
    stack.start_beat("beat-2")
    for name in ("work", "work-2"):
        stack.start_worker(name, group="twice")
    tree = scenario.small_tree(tmp_path)
    hourly = {"type": "interval", "every_seconds": 3600}
    jobs = [
        scenario.job(scenario.ground(tmp_path, "twice", name=f"repository-{number}"), tree, schedules=[hourly])
        for number in range(4)
    ]
    Schedule.objects.filter(job__in=jobs).update(next_at=database_now())
    for job in jobs:
        run = eventually(lambda job=job: Run.objects.filter(job=job).first(), what="the run is claimed")  # type: ignore[misc]
        for _ in range(3):
            doorbell.wake()
            doorbell.ring(run.id, run.fence or 1, "twice")
    for job in jobs:
        only = Run.objects.get(job=job)
        ended = scenario.finished(only)
        assert (ended.trigger, ended.state) == (Trigger.SCHEDULE, RunState.SUCCEEDED)
        doorbell.ring(ended.id, ended.fence or 0, "twice")
        assert scenario.codes(ended) == ["queued", "admitted", "started", "succeeded"]
    assert Run.objects.filter(job__in=jobs).count() == len(jobs)


def passed_since(instant: dt.datetime) -> bool:
    return SchedulerState.objects.filter(last_pass_at__gt=instant).exists()
