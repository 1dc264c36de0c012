"""Unreadable marks and sweeps as a state model: damage, a repair and prunes at every moment of a writer's commit (3.2).

Builds on the model of the fence. Whoever lists marks or sweeps while one cannot be read fails, and goes no further. A
prune's number is one more than the highest that it can read; a repair's is a stride above all that anything readable
tells. What must hold: a backup that was reported as done counts in every state in which backups can be listed, has all
its packs, and finds them in the index.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import pytest

from tests.engine.sessions import test_fence_model as fence
from tests.engine.sessions.test_fence_model import Medium, Packs, Prune, Sweep, Writer

STRIDE = 10
_READS = {0: "marks", 1: "sweeps", 5: "marks", 6: "sweeps", 9: "marks", 10: "sweeps"}


@dataclass(frozen=True)
class Hurt(Medium):
    """`lost_marks` and `lost_sweeps` are numbers of those that cannot be read, `aside` is how many lie aside."""

    lost_marks: frozenset[int] = frozenset()
    lost_sweeps: frozenset[int] = frozenset()
    aside: int = 0

    @property
    def is_lost(self) -> bool:
        return bool(self.lost_marks or self.lost_sweeps)

    def readable_sweep(self) -> Sweep:
        return replace(self, sweeps=frozenset(s for s in self.sweeps if s.number not in self.lost_sweeps)).newest()

    def highest(self) -> int:
        """Return the highest number that anything readable tells, fences too."""
        numbers = [number for number, _ in self.marks if number not in self.lost_marks]
        numbers += [self.readable_sweep().number]
        return max([0, *numbers, *(each[1] for each in self.segments | self.manifests)])


@dataclass(frozen=True)
class Harm:
    """Makes the newest mark or the newest sweep unreadable, once."""

    what: str
    outcome: str = ""


@dataclass(frozen=True)
class Mender:
    step: int = 0
    number: int = 0
    marks: frozenset[int] = frozenset()
    sweeps: frozenset[int] = frozenset()
    keeps: Packs = frozenset()
    segments: Packs = frozenset()
    outcome: str = ""


Process: TypeAlias = Writer | Prune | Harm | Mender
State: TypeAlias = tuple[Hurt, tuple[Process, ...]]


def write(medium: Hurt, writer: Writer) -> tuple[Hurt, Writer]:
    reads = _READS.get(writer.step)
    if (reads == "marks" and medium.lost_marks) or (reads == "sweeps" and medium.lost_sweeps):
        return medium, replace(writer, outcome="failed")
    after, writer = fence.step(medium, writer)
    assert isinstance(after, Hurt)
    # As in the model of the fence: it looks at marks and sweeps at once, which keeps the states few.
    return write(after, writer) if not writer.outcome and writer.step in (1, 2, 3, 4, 6, 7, 10) else (after, writer)


def prune(medium: Hurt, pruning: Prune) -> tuple[Hurt, Prune]:
    """A prune looks at marks and sweeps before whatever it decides, puts or deletes."""
    if medium.is_lost:
        return medium, replace(pruning, outcome="failed")
    if pruning.step == 1:
        marks = [number for number, _ in medium.marks]
        pruning = replace(pruning, number=max([medium.newest().number, *marks]) + 1)
    after, pruning = fence.prune(medium, pruning)
    assert isinstance(after, Hurt)
    return after, pruning


def harm(medium: Hurt, harming: Harm) -> Iterator[tuple[Hurt, Harm]]:
    done = replace(harming, outcome="done")
    if harming.what == "mark" and medium.marks:
        newest = max(number for number, _ in medium.marks)
        yield replace(medium, lost_marks=medium.lost_marks | {newest}), done
    if harming.what == "sweep" and medium.sweeps:
        yield replace(medium, lost_sweeps=medium.lost_sweeps | {medium.newest().number}), done


def mend(medium: Hurt, mender: Mender) -> tuple[Hurt, Mender]:
    """Mark, manifests, segments, sweep, then the lost ones away, then the own mark."""
    base = medium.readable_sweep()
    swept = bool(mender.sweeps)
    match mender.step:
        case 0:
            # What is lost later is for the next repair.
            mender = replace(mender, marks=medium.lost_marks, sweeps=medium.lost_sweeps)
            lost = len(mender.marks) + len(mender.sweeps) + medium.aside
            mender = replace(mender, number=medium.highest() + STRIDE * (1 + lost))
            ever = [0, *(number for number, _ in medium.marks), *(each.number for each in medium.sweeps)]
            assert mender.number > max(ever), "a number comes again"
            medium = replace(medium, marks=medium.marks | {(mender.number, frozenset())})
        case 1 if swept:
            kept = {name for name, at, _ in medium.manifests if at >= base.number or name in base.manifests}
            mender = replace(mender, keeps=frozenset(kept))
        case 2 if swept:
            counted = medium.counted_segments(base)
            mender = replace(mender, segments=frozenset(each[0] for each in counted))
        case 3 if swept:
            sweep = Sweep(mender.number, mender.keeps, mender.segments, base.packs)
            medium = replace(medium, sweeps=medium.sweeps | {sweep})
        case 4:
            return move_aside(medium, mender), replace(mender, step=5, outcome="" if swept else "done")
        case 5:
            marks = frozenset(each for each in medium.marks if each[0] != mender.number)
            return replace(medium, marks=marks), replace(mender, outcome="done")
    return medium, replace(mender, step=mender.step + 1)


def move_aside(medium: Hurt, mender: Mender) -> Hurt:
    return replace(
        medium,
        sweeps=frozenset(each for each in medium.sweeps if each.number not in mender.sweeps),
        marks=frozenset(each for each in medium.marks if each[0] not in mender.marks),
        lost_sweeps=medium.lost_sweeps - mender.sweeps,
        lost_marks=medium.lost_marks - mender.marks,
        aside=medium.aside + len(mender.marks) + len(mender.sweeps),
    )


def successors(state: State) -> Iterator[State]:
    """Yield what one step leads to. One prune or repair lives at a time; all but the last may die at every step."""
    medium, processes = state
    alone = next((each for each in processes if isinstance(each, Prune | Mender) and not each.outcome), None)
    for at, process in enumerate(processes):
        if process.outcome:
            continue
        if isinstance(process, Writer):
            yield _with(processes, at, *write(medium, process))
        elif isinstance(process, Harm):
            yield from (_with(processes, at, *each) for each in harm(medium, process))
        elif process is alone:
            yield from (_with(processes, at, *each) for each in alone_steps(medium, process))
            if at + 1 < len(processes):
                yield _with(processes, at, medium, replace(process, outcome="dead"))


def alone_steps(medium: Hurt, process: Prune | Mender) -> Iterator[tuple[Hurt, Prune | Mender]]:
    if isinstance(process, Prune):
        yield prune(medium, process)
    elif medium.is_lost or process.step:
        yield mend(medium, process)


def _with(processes: tuple[Process, ...], at: int, medium: Hurt, changed: Process) -> State:
    return medium, (*processes[:at], changed, *processes[at + 1 :])


def require_sound(state: State) -> None:
    medium, processes = state
    if medium.lost_sweeps:
        return
    committed = {each.name for each in processes if isinstance(each, Writer) and each.outcome == "committed"}
    counted = {name: packs for name, _, packs in medium.counted_manifests()}
    listed = fence.used_by(medium.counted_segments(medium.newest()))
    assert "kept" in counted, processes
    for name in {"kept", *committed}:
        assert name in counted, f"a done commit stopped counting: {processes}"
        assert counted[name] <= medium.packs, f"{name} lost {counted[name] - medium.packs}: {processes}"
        assert counted[name] <= listed, f"{name} cannot find {counted[name] - listed}: {processes}"


def explore(processes: tuple[Process, ...], *, swept: bool = False) -> tuple[int, set[str]]:
    """Visit every reachable state; return how many there are, and the outcomes of writers.

    At first a prune has died that marked what is not used, or (`swept`) that had just put its sweep.
    """
    packs, old, kept = frozenset({"A", "D"}), ("old", 0, frozenset({"A", "D"})), ("kept", 0, frozenset({"A"}))
    sweep = Sweep(1, frozenset({"kept"}), frozenset({"old"}), frozenset({"D"}))
    sweeps = frozenset({sweep}) if swept else frozenset[Sweep]()
    first = Hurt(packs, frozenset({old}), frozenset({kept}), frozenset({(1, frozenset({"D"}))}), sweeps)
    pending: list[State] = [(first, processes)]
    seen = set(pending)
    outcomes: set[str] = set()
    while pending:
        state = pending.pop()
        require_sound(state)
        outcomes.update(each.outcome for each in state[1] if isinstance(each, Writer))
        for following in successors(state):
            if following not in seen:
                seen.add(following)
                pending.append(following)
    return len(seen), outcomes


@pytest.mark.parametrize("what", ["mark", "sweep"])
def test_no_done_backup_is_lost_by_damage_and_its_repair(what: str) -> None:
    """The repair may die at each of its steps, and a prune follows it."""
    states, outcomes = explore((Writer("w"), Harm(what), Mender(), Mender(), Prune(0)), swept=what == "sweep")
    assert states > 1_000
    assert outcomes >= {"committed", "refused", "failed"}


@pytest.mark.parametrize("what", ["mark", "sweep"])
def test_nor_by_damage_to_what_a_prune_or_a_repair_has_put(what: str) -> None:
    processes = (Writer("w"), Harm("mark"), Mender(), Harm(what), Mender())
    states, outcomes = explore(processes, swept=what == "sweep")
    assert states > 1_000
    assert outcomes >= {"committed", "failed"}


def test_a_number_that_came_again_would_lose_a_backup(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model can fail: with a mark that is just removed, the next prune's number is the one a writer judges by."""

    def remove_alone(medium: Hurt, mender: Mender) -> tuple[Hurt, Mender]:
        marks = frozenset(each for each in medium.marks if each[0] not in medium.lost_marks)
        return replace(medium, marks=marks, lost_marks=frozenset()), replace(mender, outcome="done")

    monkeypatch.setattr(f"{__name__}.mend", remove_alone)
    with pytest.raises(AssertionError, match=r"lost|stopped counting"):
        explore((Writer("w"), Harm("mark"), Mender(), Prune(0)))
