"""The lease keeper against a desk that fails in every way a database can: no server is needed."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from django.db import InternalError, OperationalError

from jobs.executors import Progress
from jobs.leases import LeaseLostError
from jobs.states import CancelOrigin
from syncova_project import clock
from workers import database, lease
from workers.lease import LeaseKeeper


@dataclass
class FakeDesk:
    """Answers what the test says; `away` makes every call raise as a stopped database does."""

    held: bool = True
    away: bool = False
    origin: CancelOrigin | None = None
    beats: list[Progress | None] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)
    refused: int = 0

    def _answer(self) -> bool:
        if self.away:
            self.refused += 1
            raise OperationalError("server closed the connection unexpectedly")
        return self.held

    def cancel_origin(self) -> CancelOrigin | None:
        if not self._answer():
            raise LeaseLostError
        return self.origin

    def heartbeat(self, progress: Progress | None = None) -> bool:
        held = self._answer()
        self.beats.append(progress)
        return held

    def record(self, action: Callable[[], object]) -> bool:
        held = self._answer()
        if held:
            action()
        return held

    def stalled(self, seconds: int) -> bool:
        self.stalls.append(seconds)
        return self._answer()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses; nothing here measures time."""
    monkeypatch.setattr(lease, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(database, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def keeper(desk: FakeDesk) -> Iterator[LeaseKeeper]:
    keeper = LeaseKeeper(desk, heartbeat_seconds=0.02, poll_seconds=0.01)
    keeper.start()
    yield keeper
    desk.away = False
    keeper.stop()


def wait_for(question: Callable[[], object]) -> None:
    end = clock.monotonic() + 10
    while not question():
        assert clock.monotonic() < end, "it never happened"
        clock.sleep(0.005)


def never() -> bool:
    return False


def test_progress_goes_out_with_the_heartbeats(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    """A15."""
    keeper.report(Progress(phase="reading", files=3))
    wait_for(lambda: desk.beats and desk.beats[-1] == Progress(phase="reading", files=3))


def test_a_cancel_is_seen_and_stays(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    desk.origin = CancelOrigin.USER
    wait_for(lambda: keeper.origin is CancelOrigin.USER)
    desk.origin = None
    clock.sleep(0.05)
    assert keeper.origin is CancelOrigin.USER


def test_a_confirm_waits_for_the_database(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    """No answer = wait and ask again (execution.md, section 1)."""
    desk.away = True
    answers: list[bool | None] = []
    asking = threading.Thread(target=lambda: answers.append(keeper.confirm(never)))
    asking.start()
    wait_for(lambda: desk.refused > 3)
    assert answers == []
    desk.away = False
    asking.join(10)
    assert answers == [True]
    assert not keeper.lost


def test_a_confirm_can_be_given_up_while_the_database_is_away(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    desk.away = True
    assert keeper.confirm(lambda: desk.refused > 3) is None


def test_zero_rows_lose_the_lease_for_good(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    desk.held = False
    wait_for(lambda: keeper.lost)
    desk.held = True
    written: list[str] = []
    assert keeper.confirm(never) is False
    keeper.submit(lambda: written.append("late"))
    keeper.stop()
    assert written == []


def test_writes_survive_an_outage_in_their_order(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    """A16: results are still written."""
    desk.away = True
    written: list[int] = []
    for number in range(5):
        keeper.submit(lambda number=number: written.append(number))  # type: ignore[misc]
    wait_for(lambda: desk.refused > 3)
    assert written == []
    desk.away = False
    keeper.stop()
    assert written == [0, 1, 2, 3, 4]


def test_heartbeats_go_on_while_writes_flood_in(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            keeper.submit(lambda: clock.sleep(0.001))
            clock.sleep(0.0005)

    flooding = threading.Thread(target=flood)
    flooding.start()
    before = len(desk.beats)
    wait_for(lambda: len(desk.beats) > before + 3)
    stop.set()
    flooding.join(10)


def test_a_standstill_is_told_once(monkeypatch: pytest.MonkeyPatch, desk: FakeDesk, keeper: LeaseKeeper) -> None:
    monkeypatch.setattr(lease, "STALLED_AFTER_SECONDS", 0.05)
    wait_for(lambda: desk.stalls)
    clock.sleep(0.1)
    assert len(desk.stalls) == 1
    keeper.report(Progress(phase="reading", files=1))
    wait_for(lambda: len(desk.stalls) == 2)


def test_a_refused_statement_is_no_outage(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    """Waiting would not help, and a write that is asked for ever would hold up the run's end."""

    def refused() -> None:
        raise InternalError("current transaction is aborted")

    keeper.submit(refused)
    wait_for(lambda: keeper.lost)


def test_a_fault_of_ours_counts_as_a_lost_lease(desk: FakeDesk, keeper: LeaseKeeper) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    keeper.submit(broken)
    wait_for(lambda: keeper.lost)
    assert keeper.confirm(never) is False
