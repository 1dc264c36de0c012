"""Hooks directly before and after each source, with real programs and the real engine (6.4)."""

import os
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobs.executors import ExecutionResult, Progress
from jobs.states import CancelOrigin, FailureClass, TaskState
from tests.workers import hook_programs, scenario
from tests.workers.hook_programs import Told, hooked
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, execute
from workers import hook_process

pytestmark = pytest.mark.django_db

AROUND = ("before_source=good", "after_source=good")


@dataclass
class Wilful(Control):
    """Does something of its own when the log says `at`, and once a source was read."""

    at: str = ""
    kills: bool = False
    cancels: bool = False
    done: bool = False

    def log(self, level: str, message: str) -> None:
        super().log(level, message)
        if self.at and self.at in message:
            self._act()

    def heartbeat(self, progress: Progress) -> None:
        if not self.at and progress.bytes_read:
            self._act()

    def _act(self) -> None:
        if not self.done:
            self.done = True
            self.origin = CancelOrigin.USER if self.cancels else None
            if self.kills:
                os.kill(engine_pid(), signal.SIGKILL)


def engine_pid() -> int:
    children = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children").read_text().split()
    (engine,) = [pid for pid in children if "repositories.engine.process" in Path(f"/proc/{pid}/cmdline").read_text()]
    return int(engine)


def states(result: ExecutionResult) -> list[str]:
    return [str(source.state) for source in result.sources]


def test_each_source_stands_directly_between_its_own_hooks(place: Ground, told: Told) -> None:
    """What is frozen for one source is released before the next is touched, also when a source failed."""
    first, last = scenario.small_tree(place.directory, "a"), scenario.small_tree(place.directory, "c")
    gone = place.directory / "b"
    control = Control()
    calls = ("before_job=good", *AROUND, "before_source=warn", "after_job=good")
    result = execute(hooked(place, *calls, sources=(first, gone, last)), control)
    assert (result.failure, states(result)) == (None, ["succeeded", "failed", "succeeded"])
    assert told() == [
        ["good", "before_job"],
        ["good", "before_source", str(first)],
        ["warn", "before_source", str(first)],
        ["good", "after_source", str(first), "succeeded"],
        ["good", "before_source", str(gone)],
        ["warn", "before_source", str(gone)],
        ["good", "after_source", str(gone), "failed", "SOURCE_MISSING"],
        ["good", "before_source", str(last)],
        ["warn", "before_source", str(last)],
        ["good", "after_source", str(last), "succeeded"],
        ["good", "after_job", "partial_failure"],
    ]
    # The log tells the same order, with what the engine did in between.
    said = [line.partition(": ")[2] for line in control.lines]
    ready = said.index(f"The hook warn (before the source {first}) ended with exit code 1; the run goes on.")
    after = said.index(f"The hook good begins (after the source {first}).")
    assert ready < said.index(f"Source {first} begins.") < after


@pytest.mark.parametrize(
    ("name", "state", "code"),
    [
        ("bad", TaskState.FAILED, "HOOK_FAILED"),
        ("skip", TaskState.SKIPPED, "HOOK_SKIPPED"),
        ("slow", TaskState.FAILED, "HOOK_FAILED"),
    ],
)
def test_a_hook_before_a_source_leaves_only_that_one_out(
    place: Ground, told: Told, name: str, state: TaskState, code: str
) -> None:
    """A6: a source without a backup is never a success; what its hooks began is undone, and the others go on."""
    refused, spared = scenario.small_tree(place.directory, "refused"), scenario.small_tree(place.directory, "spared")
    calls = (f"before_source={name}", "before_source=good", "after_source=good", "after_job=good")
    result = execute(hooked(place, *calls, sources=(refused, spared)))
    left_out, done = result.sources
    assert left_out.failure is not None
    assert (left_out.state, left_out.failure.code, left_out.failure.failure_class) == (state, code, FailureClass.HOOK)
    assert (result.failure, done.state, len(place.backup_ids())) == (None, TaskState.SUCCEEDED, 1)
    assert told() == [
        [name, "before_source", str(refused)],
        ["good", "after_source", str(refused), str(state), code],
        [name, "before_source", str(spared)],
        ["good", "before_source", str(spared)],
        ["good", "after_source", str(spared), "succeeded"],
        ["good", "after_job", "partial_failure"],
    ]


def test_hooks_that_leave_out_every_source_say_that_there_is_nothing_to_do(place: Ground, told: Told) -> None:
    """As before the job: neither a success nor a failure, so nothing runs on failure."""
    result = execute(hooked(place, "before_source=skip", "on_failure=good", "after_job=good"))
    assert (states(result), place.backup_ids()) == (["skipped"], [])
    assert told()[-1] == ["good", "after_job", "cancelled"]
    assert [line[1] for line in told()] == ["before_source", "after_job"]


def test_a_failing_hook_after_a_source_keeps_its_backup_and_goes_on(place: Ground, told: Told) -> None:
    first, last = scenario.small_tree(place.directory, "a"), scenario.small_tree(place.directory, "b")
    result = execute(hooked(place, "after_source=bad", "after_source=good", sources=(first, last)))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("HOOK_FAILED", FailureClass.HOOK)
    assert (states(result), len(place.backup_ids())) == (["succeeded"] * 2, 2)
    assert [line[0] for line in told()] == ["bad", "good"] * 2


def test_what_undoes_runs_once_when_the_engine_is_killed_in_a_source(place: Ground, told: Told) -> None:
    """A frozen database must not stay frozen because the engine met the out-of-memory killer."""
    small, large = scenario.small_tree(place.directory), scenario.large_tree(place.directory, size=3_000_000)
    request = replace(hooked(place, *AROUND, sources=(large, small)), bandwidth_limit_bps=100_000)
    result = execute(request, Wilful(kills=True))
    assert result.failure is not None
    assert (result.failure.code, result.failure.failure_class) == ("ENGINE_LOST", FailureClass.TRANSIENT)
    assert told() == [
        ["good", "before_source", str(large)],
        ["good", "after_source", str(large), "failed", "ENGINE_LOST"],
    ]
    assert place.backup_ids() == []


def test_a_hook_ends_with_the_engine_that_waits_for_it(place: Ground, told: Told) -> None:
    """Also what it has half made ready is undone."""
    control = Wilful(at="says stuck", kills=True)
    result = execute(hooked(place, "before_source=stuck", "after_source=good"), control)
    assert result.failure is not None
    assert (result.failure.code, result.sources) == ("ENGINE_LOST", ())
    assert [line[0] for line in told()] == ["stuck", "good"]
    assert "warning: The hook stuck was ended: the engine that waited for it is gone." in control.lines


def test_a_cancel_in_a_source_undoes_it_and_touches_no_other(place: Ground, told: Told) -> None:
    small, large = scenario.small_tree(place.directory), scenario.large_tree(place.directory, size=3_000_000)
    request = replace(hooked(place, *AROUND, "after_job=good", sources=(large, small)), bandwidth_limit_bps=100_000)
    result = execute(request, Wilful(cancels=True))
    assert (result.cancelled, result.failure, result.sources) == (CancelOrigin.USER, None, ())
    assert [line[1:] for line in told()] == [
        ["before_source", str(large)],
        ["after_source", str(large), "cancelled"],
        ["after_job", "cancelled"],
    ]


def test_a_cancel_ends_the_hook_that_makes_a_source_ready(
    place: Ground, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the source is read, and what was half made ready is undone."""
    monkeypatch.setattr(hook_process, "GRACE_SECONDS", 0.2)
    first, other = scenario.small_tree(place.directory, "a"), scenario.small_tree(place.directory, "b")
    request = hooked(place, "before_source=stuck", *AROUND, sources=(first, other))
    result = execute(request, Wilful(at="says stuck", cancels=True))
    assert (result.cancelled, result.sources, place.backup_ids()) == (CancelOrigin.USER, (), [])
    assert told() == [["stuck", "before_source", str(first)], ["good", "after_source", str(first), "cancelled"]]
    assert hook_programs.processes_of(place) == []
