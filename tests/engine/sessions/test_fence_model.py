"""The fence protocol as a state model, every interleaving of writers and prunes, with stops at each step.

The model is docs/repository-format.md, section 7, in small: names instead of bytes, one list per step. A prune never
waits for a writer here: each writer may be taken for dead at any moment and wake up later (a sleeping machine). What
must hold in every state: a manifest that counts has all its packs, and a segment that counts lists each of them. And a
commit that was reported as done counts for ever.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest

from tests.engine.keychain.exploring import Exploration, Rules

Packs: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class Sweep:
    number: int
    manifests: Packs
    segments: Packs
    packs: Packs


@dataclass(frozen=True)
class Medium:
    """All objects: marks (number, packs), segments and manifests (name, fence, packs), packs by name."""

    packs: Packs
    segments: frozenset[tuple[str, int, Packs]]
    manifests: frozenset[tuple[str, int, Packs]]
    marks: frozenset[tuple[int, Packs]] = frozenset()
    sweeps: frozenset[Sweep] = frozenset()

    def newest(self) -> Sweep:
        nothing = Sweep(0, frozenset(), frozenset(), frozenset())
        return max(self.sweeps, key=lambda sweep: sweep.number, default=nothing)

    def counted_manifests(self) -> frozenset[tuple[str, int, Packs]]:
        sweep = self.newest()
        return frozenset(each for each in self.manifests if each[1] >= sweep.number or each[0] in sweep.manifests)

    def counted_segments(self, sweep: Sweep) -> frozenset[tuple[str, int, Packs]]:
        return frozenset(each for each in self.segments if each[1] >= sweep.number or each[0] in sweep.segments)


@dataclass(frozen=True)
class Writer:
    """A session that wants the contents of packs A and D, and has new content of its own.

    With `checkpoint` it puts a checkpoint instead of a manifest, and goes no further: `looked` after the marks as a
    commit does, `kept` with the fence that it began with.
    """

    name: str
    quick: bool = False
    checkpoint: str = ""
    step: int = 0
    fence: int = 0
    seen_fence: int = 0
    waiting: frozenset[tuple[int, Packs]] = frozenset()
    absent: Packs = frozenset()
    sweep: Sweep = field(default_factory=lambda: Sweep(0, frozenset(), frozenset(), frozenset()))
    own: Packs = frozenset()
    referenced: Packs = frozenset()
    outcome: str = ""


@dataclass(frozen=True)
class Prune:
    number: int
    step: int = 0
    dead: Packs = frozenset()
    keeps: Packs = frozenset()
    segments: frozenset[tuple[str, int, Packs]] = frozenset()
    outcome: str = ""


Process: TypeAlias = Writer | Prune


def view(waiting: frozenset[tuple[int, Packs]], sweep: Sweep) -> tuple[int, Packs]:
    """What marks listed first and sweeps listed second say: fence, absent packs."""
    later = [mark for mark in waiting if mark[0] > sweep.number]
    fence = max([sweep.number, *(number for number, _ in later)])
    return fence, frozenset(sweep.packs.union(*(packs for _, packs in later)))


def look(medium: Medium, writer: Writer) -> Writer:
    """Complete a look at the marks: the list of sweeps."""
    fence, absent = view(writer.waiting, medium.newest())
    return replace(writer, seen_fence=fence, absent=absent, sweep=medium.newest())


def begin(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 0 to 4: marks, sweeps, index; packs durable, then the segment that lists them."""
    name = writer.name
    match writer.step:
        case 0:
            writer = replace(writer, waiting=medium.marks)
        case 1:
            writer = look(medium, writer)
            writer = replace(writer, fence=writer.seen_fence)
        case 2:
            listed = used_by(medium.counted_segments(writer.sweep))
            found = frozenset({"A", "D"}) & (listed - writer.absent)
            own = frozenset(f"{name}:{pack}" for pack in {"A", "D", "new"} - found)
            writer = replace(writer, own=own, referenced=own | found)
        case 3:
            medium = replace(medium, packs=medium.packs | writer.own)
        case 4:
            medium = replace(medium, segments=medium.segments | {(f"{name}:1", writer.fence, writer.own)})
    return medium, replace(writer, step=writer.step + 1)


def commit(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 5 to 8: marks again, new fence and segment, manifest."""
    match writer.step:
        case 5 if writer.checkpoint == "kept":
            writer = replace(writer, step=7)
        case 5:
            writer = replace(writer, waiting=medium.marks)
        case 6:
            writer = look(medium, writer)
            lost = writer.referenced & writer.absent or writer.referenced - medium.packs
            if writer.seen_fence > writer.fence and lost:
                return medium, replace(writer, outcome="refused")
            writer = replace(writer, fence=writer.seen_fence)
        case 7:
            again = (f"{writer.name}:{writer.fence}", writer.fence, writer.own)
            medium = replace(medium, segments=medium.segments | {again})
        case 8:
            medium = replace(medium, manifests=medium.manifests | {(writer.name, writer.fence, writer.referenced)})
            writer = replace(writer, outcome="put" if writer.checkpoint else "")
    return medium, replace(writer, step=writer.step + 1)


def settle(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 9 to 11: marks once more; with a newer one the manifest is taken back and the commit begins again."""
    match writer.step:
        case 9:
            writer = replace(writer, waiting=medium.marks)
        case 10:
            writer = look(medium, writer)
            if writer.seen_fence <= writer.fence:
                return medium, replace(writer, outcome="committed")
        case 11:
            kept = frozenset(each for each in medium.manifests if each[0] != writer.name)
            return replace(medium, manifests=kept), replace(writer, step=5)
    return medium, replace(writer, step=writer.step + 1)


def step(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    if writer.step < 5:
        return begin(medium, writer)
    return commit(medium, writer) if writer.step < 9 else settle(medium, writer)


def write(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Take a writer's next step; a quick writer begins at once, and looks at marks and sweeps at once."""
    medium, writer = step(medium, writer)
    while writer.quick and not writer.outcome and writer.step in (1, 2, 3, 4, 6, 10):
        medium, writer = step(medium, writer)
    return medium, writer


def decide(medium: Medium, pruning: Prune) -> tuple[Medium, Prune]:
    """Steps 0 to 4: what is dead, the mark, the manifests, then the segments, the sweep."""
    match pruning.step:
        case 0:
            pruning = replace(pruning, dead=medium.packs - used_by(medium.counted_manifests()))
        case 1:
            medium = replace(medium, marks=medium.marks | {(pruning.number, pruning.dead)})
        case 2:
            keeps = medium.counted_manifests()
            dead = pruning.dead - used_by(keeps)
            pruning = replace(pruning, keeps=frozenset(each[0] for each in keeps), dead=dead)
        case 3:
            pruning = replace(pruning, segments=medium.counted_segments(medium.newest()))
        case 4:
            named = frozenset(each[0] for each in pruning.segments)
            medium = replace(medium, sweeps=medium.sweeps | {Sweep(pruning.number, pruning.keeps, named, pruning.dead)})
    return medium, replace(pruning, step=pruning.step + 1)


def remove(medium: Medium, pruning: Prune) -> tuple[Medium, Prune]:
    """Steps 5 to 8: new index, old index away, packs away, mark away."""
    match pruning.step:
        case 5:
            live = used_by(pruning.segments) - pruning.dead
            medium = replace(medium, segments=medium.segments | {(f"prune:{pruning.number}", pruning.number, live)})
        case 6:
            medium = replace(medium, segments=medium.segments - pruning.segments)
        case 7:
            medium = replace(medium, packs=medium.packs - pruning.dead)
        case 8:
            medium = replace(medium, marks=frozenset(mark for mark in medium.marks if mark[0] != pruning.number))
            return medium, replace(pruning, outcome="done")
    return medium, replace(pruning, step=pruning.step + 1)


def prune(medium: Medium, pruning: Prune) -> tuple[Medium, Prune]:
    """Take a prune's next step."""
    return decide(medium, pruning) if pruning.step < 5 else remove(medium, pruning)


def used_by(listed: frozenset[tuple[str, int, Packs]]) -> Packs:
    return frozenset(pack for _, _, packs in listed for pack in packs)


def moves(medium: Medium, process: Process) -> Iterator[tuple[Medium, Process]]:
    """Yield what one step of a process leads to, or the death of a prune, which lets the next one begin.

    The death of a writer needs no step: it is the same as never stepping again.
    """
    if isinstance(process, Writer):
        yield write(medium, process)
    else:
        yield prune(medium, process)
        yield medium, replace(process, outcome="dead")


def require_sound(medium: Medium) -> None:
    listed = used_by(medium.counted_segments(medium.newest()))
    for name, _, packs in medium.counted_manifests():
        assert packs <= medium.packs, f"{name} lost {packs - medium.packs}: {medium}"
        assert packs <= listed, f"{name} cannot find {packs - listed}: {medium}"


def require_kept(medium: Medium, process: Process) -> None:
    if process.outcome == "committed":
        assert isinstance(process, Writer)
        counted = {each[0] for each in medium.counted_manifests()}
        assert process.name in counted, f"a done commit stopped counting: {process}"


class OnePruneAtATime(Exploration[Medium, Process]):
    """A prune begins when the one before it has ended."""

    def stepping(self, state: tuple[int, ...]) -> Iterable[int]:
        prunes = False
        for at, number in enumerate(state[1:], start=1):
            process = self.process(number)
            going = isinstance(process, Prune) and not process.outcome
            if not (going and prunes):
                yield at
            prunes = prunes or going


def explore(processes: tuple[Process, ...]) -> int:
    """Visit every reachable state; return how many there are."""
    packs = frozenset({"A", "D"})
    first = Medium(packs, frozenset({("old", 0, packs)}), frozenset({("kept", 0, frozenset({"A"}))}))
    return OnePruneAtATime(Rules(moves, require_sound, require_kept), first, processes).run()[0]


def test_one_writer_and_two_prunes() -> None:
    assert explore((Writer("w"), Prune(1), Prune(2))) > 1_000


def test_two_writers_and_one_prune() -> None:
    """The second begins at any moment, also in the middle of the prune."""
    assert explore((Writer("v", quick=True), Writer("w", quick=True), Prune(1))) > 5_000


@pytest.mark.parametrize("checkpoint", ["looked", "kept"])
def test_a_checkpoint_needs_no_look_afterwards(checkpoint: str) -> None:
    """It follows the rule of manifests and may be void; one that counts has all its packs."""
    assert explore((Writer("w", checkpoint=checkpoint), Prune(1), Prune(2))) > 1_000
    assert explore((Writer("v", quick=True, checkpoint=checkpoint), Writer("w", quick=True), Prune(1))) > 3_000
