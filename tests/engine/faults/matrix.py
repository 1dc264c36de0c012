"""The matrix of faults: each operation x each way to break x each of its requests to the medium (3.9, 3.12).

Owns one case: the operation on a medium that breaks, and what must hold afterwards. Everything that was committed is
listed and restores bit for bit, nothing half is listed, the next backup and the next prune succeed at once with no
hand, and then a check of all data finds nothing. The operations are in acts.py.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from repositories.engine.check import copies as check_copies
from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.errors import CommitRefusedError, EngineError
from repositories.engine.holder import Holder, this_process
from repositories.engine.keychain import keychain as announcing
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.repair import copies as repair_copies
from repositories.engine.sessions import leases
from repositories.engine.storage.faults import CHANGES, EVERY, Breakage, Fault, FaultyStorage, KilledError, Operation
from tests.engine.faults.acts import Act
from tests.engine.faults.oracle import Oracle, never
from tests.engine.faults.stage import Stage, medium_of

_ELSEWHERE = Holder(b"another boot id!", 7, 4711, 99, "elsewhere")
_LEAVINGS = ("marks/", "sessions/", "keychanges/")
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Way:
    """A way to break: the fault, the operations that are counted, and whether what was delayed comes very late."""

    fault: Fault
    among: Operation = EVERY
    late: bool = False


WAYS = {
    "full": Way(Fault.FULL),
    "fail": Way(Fault.FAIL),
    "gone": Way(Fault.GONE),
    "tear": Way(Fault.TEAR),
    "delay": Way(Fault.DELAY, CHANGES),
    "long-delay": Way(Fault.DELAY, CHANGES, late=True),
    "sleep": Way(Fault.SLEEP),
    "lose-answer": Way(Fault.LOSE_ANSWER, CHANGES),
    "kill": Way(Fault.KILL),
}


class JumpingClock:
    """Ten seconds pass with each look at it: who waits for five minutes has waited after some looks."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now_ns(self) -> int:
        return SYSTEM_CLOCK.now_ns()

    def monotonic(self) -> float:
        self._seconds += 10.0
        return self._seconds


class Case:
    """One operation that breaks at its request numbered `at`; without a number none does, and they are counted.

    `told` is what it said at its end, or `error`; `arrived`: what was delayed is done by now.
    """

    def __init__(self, stage: Stage, act: Act, way: Way, at: int | None = None) -> None:
        self.stage = stage
        self.act = act
        self.way = way
        self.breakage = Breakage(way.fault, at, way.among, self._meanwhile)
        self.media = [medium_of(objects) for objects in act.media(stage)]
        self.oracles = [
            Oracle(medium, stage.root, secret) for medium, secret in zip(self.media, act.secrets, strict=True)
        ]
        self.oracles[0].kept.update(stage.ever)
        self.arrived = False
        self.told: Any = None
        self.error: BaseException | None = None

    def faulty(self, number: int = 0) -> FaultyStorage:
        """Return a medium as the breaking process sees it."""
        return FaultyStorage(self.media[number], breakage=self.breakage)

    def attempt(self) -> None:
        """Let the operation run, as a process that has ended then, or as one of another machine that sleeps."""
        me = this_process()
        gone = Holder(me.boot_id, me.pid_namespace, me.pid, 1, me.host)
        with standing_in(_ELSEWHERE if self.way.fault is Fault.SLEEP else gone), pausing(never):
            try:
                self.told = self.act.run(self)
            except (EngineError, KilledError) as error:
                self.error = error
        if not self.way.late:
            self._arrive()

    def judge(self) -> None:
        """Require all that must hold after the attempt."""
        with pausing(never):
            self._require_kept()
            if self.way.late:
                self._go_on()
                self._arrive()
                self._require_kept()
            self._go_on()
            self.act.again(self)
            for oracle in self.oracles:
                oracle.require_whole()
                self._require_tidy(oracle)

    def _arrive(self) -> None:
        self.breakage.arrive()
        self.arrived = True

    def _require_kept(self) -> None:
        self.act.judge(self)
        for oracle in self.oracles:
            oracle.require_restorable()
            # What was torn is told until a prune has removed it.
            told = self.act.hinders_prunes or self.way.fault is Fault.TEAR
            problems = [] if told else oracle.check().problems
            assert problems == [], problems

    def _go_on(self) -> None:
        """Back up and prune, as if nothing had been."""
        if self.act.is_first_again(self):
            self.act.again(self)
        for oracle in self.oracles:
            oracle.back_up(self.stage.tree)
            oracle.prune()

    def _require_tidy(self, oracle: Oracle) -> None:
        left = [stored.name for stored in oracle.storage.list("") if stored.name.startswith(_LEAVINGS)]
        assert not left, left

    def _meanwhile(self) -> None:
        """What another machine does while this process sleeps: a backup, a deletion, and a prune that gives it up."""
        with standing_in(this_process()), pausing(lambda seconds: None):
            for oracle in self.oracles:
                clock = oracle.clock = JumpingClock()
                self._patiently(partial(oracle.back_up, self.stage.other, name="other"))
                if self.stage.oldest in oracle.kept:
                    self._patiently(partial(oracle.forget, self.stage.oldest))
                self._patiently(partial(self._sweep, oracle, clock))
                oracle.clock = SYSTEM_CLOCK

    def _sweep(self, oracle: Oracle, clock: Clock) -> None:
        with contextlib.suppress(*self.act.hinders_prunes):
            oracle.sweep(clock, lambda seconds: None)

    def _patiently(self, do: Callable[[], object]) -> None:
        """Do what a rotation may refuse while it is under way."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(CommitRefusedError):
                do()
                return
        do()


def play(stage: Stage, act: Act, way: str, at: int) -> None:
    """Play one case. What must not be raises, with a note of what was broken."""
    with settled():
        case = Case(stage, act, WAYS[way], at)
        try:
            case.attempt()
            case.judge()
        except BaseException as error:
            ended = repr(case.error) if case.error else "told that it was done"
            error.add_note(f"{act.name}, {way} at {at}: {case.breakage.broken or 'nothing broke'}; it {ended}")
            raise


def count(stage: Stage, act: Act, way: str) -> int:
    """Return how many cases there are."""
    with settled():
        case = Case(stage, act, WAYS[way])
        case.attempt()
        assert case.error is None, case.error
        return case.breakage.operations


def spread(total: int, most: int, way: str) -> list[int]:
    """Return at most so many numbers of cases, as far from each other as can be; other ones for each way."""
    if most >= total:
        return list(range(1, total + 1))
    first = list(WAYS).index(way) / len(WAYS)
    return [1 + int((number + first) * total / most) for number in range(most)]


@contextlib.contextmanager
def standing_in(holder: Holder) -> Iterator[None]:
    """Let the leases and announcements that are put be those of another process."""
    with (
        mock.patch.object(leases, "this_process", return_value=holder),
        mock.patch.object(announcing, "this_process", return_value=holder),
    ):
        yield


@contextlib.contextmanager
def pausing(pause: Callable[[float], None]) -> Iterator[None]:
    """Let whoever waits for a rotation of keys wait so."""
    with mock.patch.object(KeyWatch.__init__, "__defaults__", (pause,)):
        yield


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Let nobody give others time: here there are none."""
    with (
        mock.patch.object(check_copies, "_SETTLE_SECONDS", 0.0),
        mock.patch.object(repair_copies, "_SETTLE_SECONDS", 0.0),
    ):
        yield
