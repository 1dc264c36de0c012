"""Every interleaving of the processes of the state model, with the reductions that docs/repository-format.md justifies.

Owns the numbering of media and processes, so that a state is one integer; what a step leads to is worked out once for
each pair of a medium and a process.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.engine.model.medium import Objects, require_whole
from tests.engine.model.program import moves, program_of

_BITS = 24
_MASK = (1 << _BITS) - 1
_SWAPPED = {"v": "w", "w": "v", "xv": "xw", "xw": "xv"}


class HoleError(AssertionError):
    """What must hold does not; the steps that lead there, the shortest way."""


class Numbers:
    """Values as numbers, in the order in which they come."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def of(self, value: Any) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
            assert number < _MASK, "too many for a state's bits"
        return number


class Explorer:
    """Visits every reachable state. With `twins` the first two processes are the same but for their names."""

    def __init__(self, medium: Objects, processes: Sequence[Any], *, twins: bool = False) -> None:
        self._media = Numbers()
        self._processes = Numbers()
        self._twins = twins
        self._shifts = [_BITS * at for at in range(1, len(processes) + 1)]
        self._sound: set[int] = set()
        self._steps: dict[int, list[int]] = {}
        self._reads: list[tuple[int, int, int]] = []
        self._other_media: dict[int, int] = {}
        self._other_processes: dict[int, int] = {}
        self._first = self._join(self._media.of(medium), [self._processes.of(each) for each in processes])

    def run(self, *, tells_way: bool = True) -> tuple[int, set[tuple[str, ...]]]:
        """Return how many states there are, and all combinations of outcomes. Raises HoleError, with the way there."""
        pending, seen = [self._first], {self._first}
        try:
            while pending:
                for following in self._after(pending.pop()):
                    if following not in seen:
                        seen.add(following)
                        pending.append(following)
        except AssertionError as error:
            way = self._way_to(str(error)) if tells_way else ""
            raise HoleError(f"{error}\n{way}") from None
        values = self._processes.values
        outcomes = {tuple(values[(each >> shift) & _MASK].outcome for shift in self._shifts) for each in seen}
        return len(seen), outcomes

    def _after(self, state: int) -> Iterator[int]:
        """Yield the states that one step leads to, as far as they must be looked at."""
        medium = state & _MASK
        processes = [(state >> shift) & _MASK for shift in self._shifts]
        alone = self._independent(medium, processes)
        for at, process in enumerate(processes) if alone is None else ((alone, processes[alone]),):
            shift = self._shifts[at]
            rest = state & ~(_MASK | (_MASK << shift))
            for step in self._step(medium, process):
                following = rest | (step & _MASK) | ((step >> _BITS) << shift)
                yield self._smaller(following) if self._twins else following

    def _independent(self, medium: int, processes: list[int]) -> int | None:
        """Return who is about to read only what no other will ever write again: that may happen at once."""
        facts = [self._facts(each) for each in processes]
        for at, (reads, ends, _) in enumerate(facts):
            if reads < 0 or ends or not self._step(medium, processes[at]):
                continue
            if not any(facts[other][2] & reads for other in range(len(facts)) if other != at):
                return at
        return None

    def _facts(self, process: int) -> tuple[int, int, int]:
        """Return what the next step reads (-1 if it writes), whether there is none, what may be written later on."""
        while process >= len(self._reads):
            value = self._processes.values[len(self._reads)]
            if value.outcome:
                self._reads.append((-1, 1, 0))
                continue
            program = program_of(value)
            step = program.steps[value.at]
            self._reads.append((-1 if step.writes else step.reads, 0, program.future_writes(value.at)))
        return self._reads[process]

    def _step(self, medium: int, process: int) -> list[int]:
        """Return what a step leads to, medium and process in one number; prove on the way what must hold."""
        key = medium | (process << _BITS)
        known = self._steps.get(key)
        if known is None:
            place, stepping = self._media.values[medium], self._processes.values[process]
            if medium not in self._sound:
                require_whole(place)
                self._sound.add(medium)
            stepping.require_kept(place)
            found = moves(place, stepping)
            known = [self._media.of(changed) | (self._processes.of(moved) << _BITS) for changed, moved in found]
            self._steps[key] = known
        return known

    def _join(self, medium: int, processes: Sequence[int]) -> int:
        state = medium
        for shift, process in zip(self._shifts, processes, strict=True):
            state |= process << shift
        return state

    def _smaller(self, state: int) -> int:
        """Return the one that stands for a state and its mirror image, the twins' names exchanged."""
        medium = _mirrored(self._media, self._other_media, state & _MASK)
        parts = [(state >> shift) & _MASK for shift in self._shifts]
        others = [_mirrored(self._processes, self._other_processes, each) for each in parts]
        others[0], others[1] = others[1], others[0]
        return min(state, self._join(medium, others))

    def _way_to(self, what: str) -> str:
        """Return the shortest way to what was found, a line for each step."""
        came: dict[int, int] = {self._first: -1}
        pending = [self._first]
        for state in pending:
            try:
                for following in self._after(state):
                    if following not in came:
                        came[following] = state
                        pending.append(following)
            except AssertionError:
                return "\n".join(self._told(came, state))
        return what

    def _told(self, came: dict[int, int], state: int) -> list[str]:
        way = [state]
        while came[way[-1]] >= 0:
            way.append(came[way[-1]])
        lines = []
        for before, after in zip(way[:0:-1], way[-2::-1], strict=True):
            moved = [shift for shift in self._shifts if (before ^ after) >> shift & _MASK]
            values = [(self._process(before, shift), self._process(after, shift)) for shift in moved]
            lines.append("; ".join(f"{old.name}: {old.at} -> {new.outcome or new.at}" for old, new in values))
        return [*lines, str(sorted(map(str, self._media.values[state & _MASK])))]

    def _process(self, state: int, shift: int) -> Any:
        return self._processes.values[(state >> shift) & _MASK]


def _mirrored(numbers: Numbers, known: dict[int, int], number: int) -> int:
    other = known.get(number)
    if other is None:
        other = numbers.of(_exchanged(numbers.values[number]))
        known[number], known[other] = other, number
    return other


def _exchanged(value: Any) -> Any:
    """Return a value with the names of the twins exchanged, however deep they lie."""
    if isinstance(value, str):
        return _SWAPPED.get(value, value)
    if isinstance(value, frozenset):
        return frozenset(map(_exchanged, value))
    if isinstance(value, tuple):
        return type(value)(*map(_exchanged, value)) if hasattr(value, "_fields") else tuple(map(_exchanged, value))
    return value


def explore(
    medium: Objects, *processes: Any, twins: bool = False, tells_way: bool = True
) -> tuple[int, set[tuple[str, ...]]]:
    """Go through every interleaving; return how many states there are, and all combinations of outcomes."""
    return Explorer(medium, processes, twins=twins).run(tells_way=tells_way)
