"""The reasons to stop, each alone and in their order; no server is needed."""

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from jobs.executors import Progress
from jobs.leases import LeaseLostError
from jobs.states import CancelOrigin
from syncova_project import clock
from workers import drain, run_control
from workers.run_control import MainProcessLostError, RunControl


@dataclass
class FakeKeeper:
    """A keeper that answers at once."""

    lost: bool = False
    origin: CancelOrigin | None = None
    answer: bool | None = True
    reports: list[Progress] = field(default_factory=list)
    writes: list[Callable[[], object]] = field(default_factory=list)

    def report(self, progress: Progress) -> None:
        self.reports.append(progress)

    def submit(self, action: Callable[[], object]) -> None:
        self.writes.append(action)

    def confirm(self, give_up: Callable[[], bool]) -> bool | None:
        return None if give_up() else self.answer


@pytest.fixture
def keeper() -> FakeKeeper:
    return FakeKeeper()


@pytest.fixture
def control(keeper: FakeKeeper) -> RunControl:
    return RunControl(uuid.uuid4(), 7, keeper, None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def undrained() -> Iterator[None]:
    yield
    drain.reset()


def test_nobody_asked(control: RunControl) -> None:
    assert control.cancelled() is None


def test_sigterm_is_seen_and_a_person_outweighs_it(control: RunControl, keeper: FakeKeeper) -> None:
    """A16: only a shutdown is queued again, so a person's cancel must win."""
    drain.request()
    assert control.cancelled() is CancelOrigin.SHUTDOWN
    keeper.origin = CancelOrigin.USER
    assert control.cancelled() is CancelOrigin.USER


def test_the_drain_byte_reaches_a_forked_child() -> None:
    """SIGTERM tells the children of the pool nothing: the byte does."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read_end, 1)
        os._exit(42 if drain.requested() else 1)
    drain.request()
    os.write(write_end, b"x")
    _, status = os.waitpid(child, 0)
    os.close(read_end)
    os.close(write_end)
    assert os.waitstatus_to_exitcode(status) == 42


def test_the_maximum_runtime_ends_a_run(keeper: FakeKeeper, monkeypatch: pytest.MonkeyPatch) -> None:
    control = RunControl(uuid.uuid4(), 7, keeper, 60)  # type: ignore[arg-type]
    assert control.cancelled() is None
    later = clock.monotonic() + 61
    monkeypatch.setattr(clock, "monotonic", lambda: later)
    assert control.cancelled() is CancelOrigin.OVER_RUNTIME


def test_a_lost_lease_outweighs_everything(control: RunControl, keeper: FakeKeeper) -> None:
    keeper.origin, keeper.lost = CancelOrigin.USER, True
    with pytest.raises(LeaseLostError):
        control.cancelled()


def test_another_parent_means_a_dead_worker(control: RunControl, monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.getppid() + 1
    monkeypatch.setattr(os, "getppid", lambda: other)
    with pytest.raises(MainProcessLostError):
        control.cancelled()


@pytest.mark.parametrize(("answer", "origin"), [(False, None), (True, CancelOrigin.USER)])
def test_without_a_proof_nothing_is_confirmed(
    control: RunControl, keeper: FakeKeeper, answer: bool, origin: CancelOrigin | None
) -> None:
    keeper.answer, keeper.origin = answer, origin
    with pytest.raises(LeaseLostError):
        control.confirm()


def test_log_lines_are_gathered_and_none_is_left(control: RunControl, keeper: FakeKeeper) -> None:
    """H6: a chatty source costs few rows."""
    for number in range(run_control.LOG_LINES - 1):
        control.log("info", str(number))
    assert keeper.writes == []
    control.log("info", "full")
    assert len(keeper.writes) == 1
    control.log("info", "rest")
    control.flush()
    control.flush()
    assert len(keeper.writes) == 2
