"""Two writers, a prune and a rotation as one state model, every interleaving (3.8).

The fence protocol alone is gone through in tests/engine/sessions/test_fence_model.py, the rotation's own steps in
test_rotation_model.py. Here they meet: what a prune deletes, it deletes by marks, sweeps and segments that a rotation
may leave out. A look at marks, and one at the keys, is one step here. Each process stops or wakes at any step; a prune
waits for nobody. In every state whatever counts has its packs and finds them; what was told as committed counts.

Two writers that are not quick take minutes: tests/long/rotation_model.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest

from tests.engine.keychain.exploring import Exploration, Rules

Names: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class Thing:
    """A sealed object: a manifest, segment, mark or sweep; `fence` is the number of the latter two."""

    kind: str
    name: str
    epoch: int
    fence: int
    packs: Names = frozenset()
    accepted: Names = frozenset()


Things: TypeAlias = frozenset[Thing]


@dataclass(frozen=True)
class Medium:
    """All objects. `inventory` is None before the rotation: then the first epoch is the current one."""

    packs: Names
    things: Things
    announced: bool = False
    inventory: Things | None = None

    @property
    def epoch(self) -> int:
        return 1 if self.inventory is None else 2

    def known(self, epoch: int) -> Things:
        """Return what counts, as far as keys go, for whoever opened the repository in this epoch."""
        if epoch == 1 or self.inventory is None:
            return frozenset(each for each in self.things if each.epoch == 1)
        return frozenset(each for each in self.things if each.epoch == 2 or each in self.inventory)

    def look(self, epoch: int) -> str:
        """Look at the keys."""
        if self.epoch > epoch:
            return "rotated"
        return "under way" if self.announced else "quiet"


def newest_sweep(known: Things) -> Thing:
    sweeps = [each for each in known if each.kind == "sweep"]
    return max(sweeps, key=lambda each: each.fence, default=Thing("sweep", "none", 0, 0))


def counted(known: Things, kind: str) -> Things:
    """Return the manifests or segments that count by the fence rule, too."""
    sweep = newest_sweep(known)
    return frozenset(
        each for each in known if each.kind == kind and (each.fence >= sweep.fence or each.name in sweep.accepted)
    )


def view(known: Things) -> tuple[int, Names]:
    """Return the fence to take, and the packs that do not count as there."""
    sweep = newest_sweep(known)
    waiting = [each for each in known if each.kind == "mark" and each.fence > sweep.fence]
    fence = max([sweep.fence, *(each.fence for each in waiting)])
    return fence, sweep.packs.union(*(each.packs for each in waiting))


def packs_of(things: Things) -> Names:
    return frozenset(pack for each in things for pack in each.packs)


@dataclass(frozen=True)
class Writer:
    """Wants packs A and D, and has one of its own. A quick one is interrupted before it looks only."""

    name: str
    quick: bool = False
    step: int = 0
    epoch: int = 0
    fence: int = 0
    own: Names = frozenset()
    referenced: Names = frozenset()
    outcome: str = ""

    def thing(self, kind: str, packs: Names) -> Thing:
        return Thing(
            kind, f"{self.name}:{self.fence}" if kind == "segment" else self.name, self.epoch, self.fence, packs
        )


@dataclass(frozen=True)
class Prune:
    """`careless` never looks at the keys."""

    careless: bool = False
    step: int = 0
    epoch: int = 0
    dead: Names = frozenset()
    manifests: Things = frozenset()
    segments: Things = frozenset()
    outcome: str = ""


@dataclass(frozen=True)
class Rotation:
    """Lists in this order: `kinds`."""

    kinds: tuple[str, ...] = ("manifest", "segment", "mark", "sweep")
    step: int = 0
    listed: Things = field(default_factory=frozenset)
    outcome: str = ""


Process: TypeAlias = Writer | Prune | Rotation


def begin(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 0 to 2: open and look, packs, segment."""
    match writer.step:
        case 0:
            known = medium.known(medium.epoch)
            fence, absent = view(known)
            found = (packs_of(counted(known, "segment")) & medium.packs & {"A", "D"}) - absent
            own = frozenset(f"{writer.name}:{pack}" for pack in {"A", "D", "new"} - found)
            writer = replace(writer, epoch=medium.epoch, fence=fence, own=own, referenced=own | found)
        case 1:
            medium = replace(medium, packs=medium.packs | writer.own)
        case 2:
            medium = replace(medium, things=medium.things | {writer.thing("segment", writer.own)})
    return medium, replace(writer, step=writer.step + 1)


def commit(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 3 to 8: marks, segment with the new fence, manifest, marks again, keys, and the manifest away."""
    manifest = writer.thing("manifest", writer.referenced)
    match writer.step:
        case 3:
            fence, absent = view(medium.known(writer.epoch))
            if fence > writer.fence and (writer.referenced & absent or writer.referenced - medium.packs):
                return medium, replace(writer, outcome="refused")
            writer = replace(writer, fence=max(fence, writer.fence))
        case 4:
            medium = replace(medium, things=medium.things | {writer.thing("segment", writer.own)})
        case 5:
            medium = replace(medium, things=medium.things | {manifest})
        case 6 if view(medium.known(writer.epoch))[0] > writer.fence:
            return medium, replace(writer, step=8)
        case 7 if medium.look(writer.epoch) == "quiet":
            return medium, replace(writer, outcome="committed")
        case 8:
            refused = "refused" if medium.look(writer.epoch) == "rotated" else ""
            return replace(medium, things=medium.things - {manifest}), replace(writer, step=3, outcome=refused)
    return medium, replace(writer, step=writer.step + 1)


def write(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    return begin(medium, writer) if writer.step < 3 else commit(medium, writer)


def decide(medium: Medium, prune: Prune) -> tuple[Medium, Prune]:
    """Steps 0 to 6: what is dead, mark, keys, manifests, segments, keys, sweep."""
    known = medium.known(prune.epoch or medium.epoch)
    match prune.step:
        case 0:
            dead = packs_of(counted(known, "segment")) - packs_of(counted(known, "manifest"))
            prune = replace(prune, epoch=medium.epoch, dead=dead)
        case 1:
            medium = replace(medium, things=medium.things | {Thing("mark", "mark", prune.epoch, 1, prune.dead)})
        case 3:
            found = counted(known, "manifest")
            prune = replace(prune, manifests=found, dead=prune.dead - packs_of(found))
        case 4:
            prune = replace(prune, segments=counted(known, "segment"))
        case 6:
            accepted = frozenset(each.name for each in prune.manifests | prune.segments)
            sweep = Thing("sweep", "sweep", prune.epoch, 1, prune.dead, accepted)
            medium = replace(medium, things=medium.things | {sweep})
    return medium, replace(prune, step=prune.step + 1)


def remove(medium: Medium, prune: Prune) -> tuple[Medium, Prune]:
    """Steps 8 to 14: new segment, keys, old segments, keys, packs, keys, mark."""
    match prune.step:
        case 8:
            live = Thing("segment", "pruned", prune.epoch, 1, packs_of(prune.segments) - prune.dead)
            medium = replace(medium, things=medium.things | {live})
        case 10:
            medium = replace(medium, things=medium.things - prune.segments)
        case 12:
            medium = replace(medium, packs=medium.packs - prune.dead)
        case 14:
            kept = frozenset(each for each in medium.things if (each.kind, each.epoch) != ("mark", prune.epoch))
            return replace(medium, things=kept), replace(prune, outcome="done")
    return medium, replace(prune, step=prune.step + 1)


def sweep_out(medium: Medium, prune: Prune) -> tuple[Medium, Prune]:
    """Take a prune's next step; it looks at the keys after each thing that it put, and before each deletion."""
    if prune.step in (2, 5, 7, 9, 11, 13) and not prune.careless:
        seen = medium.look(prune.epoch)
        if seen == "rotated":
            return medium, replace(prune, outcome="overtaken")
        return medium, prune if seen == "under way" else replace(prune, step=prune.step + 1)
    return decide(medium, prune) if prune.step < 8 else remove(medium, prune)


def rotate(medium: Medium, rotation: Rotation) -> tuple[Medium, Rotation]:
    """Announce, list kind by kind, put the keyring, and take the announcement away."""
    at = rotation.step - 1
    if at < 0:
        medium = replace(medium, announced=True)
    elif at < len(rotation.kinds):
        found = frozenset(each for each in medium.known(1) if each.kind == rotation.kinds[at])
        rotation = replace(rotation, listed=rotation.listed | found)
    elif at == len(rotation.kinds):
        medium = replace(medium, inventory=rotation.listed)
    else:
        return replace(medium, announced=False), replace(rotation, outcome="done")
    return medium, replace(rotation, step=rotation.step + 1)


def moves(medium: Medium, process: Process) -> Iterator[tuple[Medium, Process]]:
    match process:
        case Writer():
            medium, process = write(medium, process)
            while process.quick and not process.outcome and process.step not in (0, 6, 8):
                medium, process = write(medium, process)
            yield medium, process
        case Prune():
            yield sweep_out(medium, process)
        case Rotation():
            yield rotate(medium, process)


def require_sound(medium: Medium) -> None:
    known = medium.known(medium.epoch)
    found = packs_of(counted(known, "segment"))
    for each in counted(known, "manifest"):
        assert each.packs <= medium.packs, f"{each.name} lost {each.packs - medium.packs}: {medium}"
        assert each.packs <= found, f"{each.name} cannot find {each.packs - found}: {medium}"


def require_kept(medium: Medium, process: Process) -> None:
    if isinstance(process, Writer) and process.outcome == "committed":
        names = {each.name for each in counted(medium.known(medium.epoch), "manifest")}
        assert process.name in names, f"a done commit stopped counting: {process} {medium}"


def explore(*processes: Process) -> tuple[int, set[tuple[str, ...]]]:
    old = Thing("segment", "old", 1, 0, frozenset({"A", "D"}))
    kept = Thing("manifest", "kept", 1, 0, frozenset({"A"}))
    first = Medium(frozenset({"A", "D"}), frozenset({old, kept}))
    return Exploration(Rules(moves, require_sound, require_kept), first, processes).run()


def test_a_writer_a_prune_and_a_rotation() -> None:
    states, outcomes = explore(Writer("w"), Prune(), Rotation())
    assert states > 10_000
    assert {each[0] for each in outcomes} == {"", "committed", "refused"}
    assert {each[1] for each in outcomes} == {"", "overtaken", "done"}


def test_two_writers_a_prune_and_a_rotation() -> None:
    states, outcomes = explore(Writer("v", quick=True), Writer("w", quick=True), Prune(), Rotation())
    assert states > 10_000
    for expected in ("committed", "refused"):
        assert any(each[:2] == (expected, expected) and each[3] == "done" for each in outcomes)


@pytest.mark.parametrize(
    ("prune", "rotation", "reason"),
    [
        (Prune(careless=True), Rotation(), "cannot find|lost"),
        (Prune(), Rotation(("segment", "manifest", "mark", "sweep")), "cannot find"),
        (Prune(), Rotation(("manifest", "segment")), "cannot find|lost|stopped counting"),
    ],
    ids=["a prune that does not look", "segments listed first", "no marks and sweeps in the inventory"],
)
def test_the_model_finds_what_is_left_out(prune: Prune, rotation: Rotation, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        explore(Writer("w"), prune, rotation)
