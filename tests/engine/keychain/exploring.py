"""Every interleaving of processes that each take one step at a time on one medium."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class HasOutcome(Protocol):
    """A process; with an outcome it takes no further step."""

    @property
    def outcome(self) -> str: ...


M = TypeVar("M")
P = TypeVar("P", bound=HasOutcome)


@dataclass(frozen=True)
class Rules(Generic[M, P]):
    """What a step may lead to, what must hold of a medium, and of a medium and a process together."""

    moves: Callable[[M, P], Iterable[tuple[M, P]]]
    require_sound: Callable[[M], None]
    require_kept: Callable[[M, P], None]


class Exploration(Generic[M, P]):
    """Visits every reachable state. Media and processes stand as numbers; what a step leads to is worked out once."""

    def __init__(self, rules: Rules[M, P], medium: M, processes: tuple[P, ...]) -> None:
        self._rules = rules
        self._media: dict[M, int] = {}
        self._processes: dict[P, int] = {}
        self._medium_of: list[M] = []
        self._process_of: list[P] = []
        self._steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._first = (self._medium(medium), *(self._process(each) for each in processes))

    def run(self) -> tuple[int, set[tuple[str, ...]]]:
        """Return how many states there are, and all combinations of outcomes."""
        pending = [self._first]
        seen = set(pending)
        while pending:
            state = pending.pop()
            for at in self.stepping(state):
                for changed, moved in self._step(state[0], state[at]):
                    following = (changed, *state[1:at], moved, *state[at + 1 :])
                    if following not in seen:
                        seen.add(following)
                        pending.append(following)
        outcomes = {tuple(self._process_of[each].outcome for each in state[1:]) for state in seen}
        return len(seen), outcomes

    def stepping(self, state: tuple[int, ...]) -> Iterable[int]:
        """Return the places in a state of the processes that may take a step there; a subclass may leave some out."""
        return range(1, len(state))

    def process(self, number: int) -> P:
        """Return the process that stands as a number."""
        return self._process_of[number]

    def _step(self, medium: int, process: int) -> list[tuple[int, int]]:
        """Return what a step leads to; what must hold of the two is proven on the way, once for each pair."""
        known = self._steps.get((medium, process))
        if known is None:
            place, stepping = self._medium_of[medium], self._process_of[process]
            self._rules.require_kept(place, stepping)
            found = [] if stepping.outcome else list(self._rules.moves(place, stepping))
            known = [(self._medium(changed), self._process(moved)) for changed, moved in found]
            self._steps[medium, process] = known
        return known

    def _medium(self, medium: M) -> int:
        if medium not in self._media:
            self._rules.require_sound(medium)
            self._media[medium] = len(self._medium_of)
            self._medium_of.append(medium)
        return self._media[medium]

    def _process(self, process: P) -> int:
        if process not in self._processes:
            self._processes[process] = len(self._process_of)
            self._process_of.append(process)
        return self._processes[process]
