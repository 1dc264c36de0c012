"""A drained worker finishes what it does and takes nothing new; lookups go on beside a backup (6.5)."""

from pathlib import Path

from jobs.database_time import database_now
from jobs.models import Run
from jobs.services import run_cancel
from jobs.services.draining import runs_left, workers_drain
from jobs.states import HeldCode, RunState
from repositories.models import RepositoryState
from tests.workers import scenario
from tests.workers.harness import Stack, eventually


def test_a_drained_worker_ends_its_run_and_takes_no_other(stack: Stack, tmp_path: Path) -> None:
    stack.start_worker("work", group="drained", slots=3)
    place, other = scenario.ground(tmp_path, "drained"), scenario.ground(tmp_path, "drained", name="other")
    slow = scenario.large_tree(tmp_path, size=1_000_000)
    first = scenario.request(scenario.job(place, slow, bandwidth=scenario.SLOW_RATE))
    scenario.running(first)
    workers_drain(group="drained", host=None, actor="test", now=database_now())
    second = scenario.request(scenario.job(other, scenario.small_tree(tmp_path)))
    eventually(lambda: Run.objects.get(pk=second.pk).held_code == HeldCode.NO_WORKER, what="the second run waits")
    assert scenario.finished(first).state == RunState.SUCCEEDED
    assert runs_left(group="drained", host=None) == 0
    assert Run.objects.get(pk=second.pk).state == RunState.QUEUED
    workers_drain(group="drained", host=None, drain=False, actor="test", now=database_now())
    assert scenario.finished(second).state == RunState.SUCCEEDED


def test_a_lookup_is_never_blocked_by_a_backup(stack: Stack, tmp_path: Path) -> None:
    """28: one slot, taken for long; a repository that is registered meanwhile is opened all the same."""
    stack.start_worker("work", group="looks", slots=1)
    place = scenario.ground(tmp_path, "looks")
    slow = scenario.request(scenario.job(place, scenario.large_tree(tmp_path), bandwidth=scenario.SLOW_RATE))
    scenario.running(slow)
    scenario.new_repository(tmp_path / "new")
    opened = scenario.answered(scenario.registered(str(tmp_path / "new"), "looks"))
    assert opened.state == RepositoryState.ACTIVE
    assert Run.objects.get(pk=slow.pk).state == RunState.RUNNING
    run_cancel(run_id=slow.id, actor="test", now=database_now())
    scenario.finished(slow)
