"""Programs of the state model: their steps, what each reads and writes, and the storage operations that it stands for.

Owns the tables from which the explorer knows which steps are independent, and the conformance test what the code does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.engine.model.medium import Objects

Move: TypeAlias = tuple[Objects, Any]
Take: TypeAlias = Callable[[Objects, Any], Iterable[Move]]


@dataclass(frozen=True)
class Step:
    """One step: at most one read or one write of what others may write or read, and the operations of the code."""

    name: str
    take: Take
    reads: int = 0
    writes: int = 0
    operations: tuple[str, ...] = ()


@dataclass
class Program:
    """Steps in order. A process may go on at any later one; from `back` at the latest it may return to `to`."""

    steps: dict[str, Step] = field(default_factory=dict)
    back: str = ""
    to: str = ""

    def add(self, name: str, take: Take, *, reads: int = 0, writes: int = 0, operations: str = "") -> None:
        """Add the next step; `operations` are divided by commas."""
        listed = tuple(each.strip() for each in operations.split(",") if each.strip())
        self.steps[name] = Step(name, take, reads, writes, listed)

    def future_writes(self, name: str) -> int:
        """Return the kinds that this step or any that may come after it writes."""
        names = list(self.steps)
        at = names.index(name)
        if self.back and at <= names.index(self.back):
            at = min(at, names.index(self.to))
        kinds = 0
        for each in names[at:]:
            kinds |= self.steps[each].writes
        return kinds


PROGRAMS: Final[dict[type, Program]] = {}


def program_of(process: Any) -> Program:
    return PROGRAMS[type(process)]


def moves(medium: Objects, process: Any) -> list[Move]:
    """Return what one step of a process leads to: several where it chooses, none while it waits or has ended."""
    if process.outcome:
        return []
    found = list(program_of(process).steps[process.at].take(medium, process))
    if "quick" not in getattr(process, "options", ()):
        return found
    return [each for changed, moved in found for each in _hurried(changed, moved)]


def _hurried(medium: Objects, process: Any) -> list[Move]:
    """Let one that is quick go on to where it stops again; that leaves out states, and none is added."""
    return [(medium, process)] if process.outcome or process.stops else moves(medium, process)


def run_alone(medium: Objects, process: Any, until: str = "") -> tuple[Objects, Any, list[str]]:
    """Let one process go on alone, by its first choice, to its end or to a step; return the operations, too."""
    told: list[str] = []
    while not process.outcome and process.at != until:
        told += program_of(process).steps[process.at].operations
        following = moves(medium, process)
        if not following:
            break
        medium, process = following[0]
    return medium, process, told
