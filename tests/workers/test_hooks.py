"""Hooks around a backup, with real programs and the real engine: order, limit, output, exit codes (6.4).

Those around each source are test_hook_turns'.
"""

import re
from typing import Any

import pytest

from jobs.states import CancelOrigin, FailureClass, TaskState
from tests.workers import hook_programs, scenario
from tests.workers.hook_programs import Told, hooked
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, execute
from workers import backup, hook_process

pytestmark = pytest.mark.django_db


def test_hooks_run_in_their_order_around_the_backup(place: Ground, told: Told) -> None:
    tree = scenario.small_tree(place.directory)
    calls = ("before_job=good", "before_job=warn", "before_source=good", "after_source=good", "after_job=good")
    control = Control()
    result = execute(hooked(place, *calls, "on_failure=good", sources=(tree,)), control)
    assert (result.failure, result.sources[0].state) == (None, TaskState.SUCCEEDED)
    assert told() == [
        ["good", "before_job"],
        ["warn", "before_job"],
        ["good", "before_source", str(tree)],
        ["good", "after_source", str(tree), "succeeded"],
        ["good", "after_job", "succeeded"],
    ]
    lines = "\n".join(control.lines)
    assert "info: good: says good" in lines
    assert "\x1b" not in lines
    assert "warning: The hook warn (before the job) ended with exit code 1; the run goes on." in lines
    assert result.hooks_warned == ("warn (before the job) ended with exit code 1",)


def test_a_warning_of_a_hook_outlasts_each_end_of_the_run(place: Ground, told: Told) -> None:
    tree = scenario.small_tree(place.directory)
    calls = ("before_source=warn", "after_source=warn", "after_job=warn", "on_failure=warn")
    every = execute(hooked(place, *calls, sources=(tree,))).hooks_warned
    assert [each.partition(" ended")[0] for each in every] == [
        f"warn (before the source {tree})",
        f"warn (after the source {tree})",
        "warn (after the job)",
    ]
    assert len(execute(hooked(place, "before_job=bad", *calls, sources=(tree,))).hooks_warned) == 2
    refused = execute(hooked(place, "before_job=unheard-of", *calls, sources=(tree,)))
    assert refused.hooks_warned == ("warn (on failure) ended with exit code 1",)


def test_what_comes_after_is_told_that_every_source_failed(place: Ground, told: Told) -> None:
    result = execute(hooked(place, "on_failure=good", "after_job=good", sources=(place.directory / "gone",)))
    assert (result.failure, result.sources[0].state) == (None, TaskState.FAILED)
    assert told() == [["good", each, "failed", "ALL_SOURCES_FAILED"] for each in ("on_failure", "after_job")]


def test_a_failing_hook_before_the_job_ends_the_run(place: Ground, told: Told) -> None:
    """Nothing is read, the rest of what makes ready is not run, and what undoes is."""
    calls = ("before_job=bad", "before_job=good", "before_source=good", "on_failure=good", "after_job=good")
    result = execute(hooked(place, *calls))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("HOOK_FAILED", FailureClass.HOOK)
    assert re.fullmatch(r"The hook bad \(before the job\) ended with exit code \d+\.", result.failure.message)
    ended = ["failed", "HOOK_FAILED"]
    assert told() == [["bad", "before_job"], ["good", "on_failure", *ended], ["good", "after_job", *ended]]
    assert place.backup_ids() == []


def test_a_hook_can_say_that_there_is_nothing_to_do(place: Ground, told: Told) -> None:
    """No success without a backup, no failure either: the run is cancelled by its hook."""
    result = execute(hooked(place, "before_job=skip", "after_job=good"))
    assert (result.failure, result.cancelled, result.sources) == (None, CancelOrigin.HOOK, ())
    assert result.parameters == {"hook": "The hook skip (before the job) ended with exit code 75: skip."}
    assert [line[0] for line in told()] == ["skip", "good"]
    assert place.backup_ids() == []


def test_what_undoes_runs_also_when_no_engine_can_be_started(
    place: Ground, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object, **_named: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(backup, "EngineProcess", fails)
    result = execute(hooked(place, "before_job=good", "before_source=good", "after_source=good", "after_job=good"))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("ENGINE_NOT_STARTED", FailureClass.TRANSIENT)
    # No source's turn had come: nothing was made ready for one, and nothing is to be undone.
    assert [line[1] for line in told()] == ["before_job", "after_job"]


def test_a_hook_that_takes_too_long_is_ended_with_all_that_it_began(place: Ground, told: Told) -> None:
    result = execute(hooked(place, "before_job=slow"))
    assert result.failure is not None
    assert "took longer than 2 s" in result.failure.message
    assert hook_programs.processes_of(place) == []


def test_a_name_that_this_machine_does_not_know_backs_up_nothing(place: Ground, told: Told) -> None:
    """Nothing was made ready, so nothing is undone; but whoever waits to be told of failures is told."""
    calls = ("before_job=good", "after_job=good", "after_job=unheard-of", "on_failure=unheard-of", "on_failure=good")
    result = execute(hooked(place, *calls))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("HOOKS_FILE", FailureClass.CONFIGURATION)
    assert "unheard-of" in result.failure.message
    assert (told(), place.backup_ids()) == ([["good", "on_failure", "failed", "HOOKS_FILE"]], [])


@pytest.mark.usefixtures("told")
def test_a_cancel_ends_a_hook_that_makes_ready(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_process, "GRACE_SECONDS", 0.2)

    class Impatient(Control):
        def log(self, level: str, message: str) -> None:
            super().log(level, message)
            if "says stuck" in message:
                self.origin = CancelOrigin.USER

    result = execute(hooked(place, "before_job=stuck"), Impatient())
    assert (result.cancelled, result.failure) == (CancelOrigin.USER, None)


@pytest.mark.usefixtures("told")
def test_a_flood_of_output_is_bounded(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """H6: the log's bound is for the whole run."""
    monkeypatch.setattr(hook_process, "MAX_LINES", 0)
    control = Control()
    assert execute(hooked(place, "before_job=good"), control).failure is None
    assert any("1 more lines of its output were dropped" in line for line in control.lines)


def test_without_hooks_no_file_is_needed(place: Ground, settings: Any) -> None:
    settings.SYNCOVA_HOOKS_FILE = "/nowhere/hooks.toml"
    assert execute(hooked(place)).failure is None
