"""The rotation protocol as a state model, every interleaving of writers, rotations, finishers and removers (3.8).

The model is docs/repository-format.md, section 5, in small: names instead of bytes, one list, put or deletion per step.
Whoever stops for ever is dead, whoever goes on later has slept: both need no step of their own. A remover takes a
rotation for dead at any moment, rightly or not; a finisher is anybody who opens the repository. What must hold in every
state: a commit that was reported as done counts, with the segment that lists its packs; a manifest that counts has its
segment; a rotation that was reported as done is not undone; no generation has two keyrings.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import pytest

from tests.engine.keychain.exploring import Exploration, Rules

Thing: TypeAlias = tuple[str, str, str]  # what (m manifest, s segment), whose, under which epoch


@dataclass(frozen=True)
class Keyring:
    """A keyring: its generation, its epoch (which has the id of its rotation), what its inventory names."""

    generation: int
    id: str
    inventory: frozenset[Thing] = frozenset()

    def accepts(self, thing: Thing) -> bool:
        return thing[2] == self.id or thing in self.inventory


@dataclass(frozen=True)
class Medium:
    """All objects. `slots` are the generations that have slots."""

    things: frozenset[Thing] = frozenset()
    keyrings: frozenset[Keyring] = frozenset({Keyring(1, "first")})
    announced: frozenset[str] = frozenset()
    intents: frozenset[Keyring] = frozenset()
    slots: frozenset[int] = frozenset({1})

    def newest(self) -> Keyring:
        return max(self.keyrings, key=lambda each: each.generation)

    def counted(self, keyring: Keyring) -> frozenset[Thing]:
        return frozenset(thing for thing in self.things if keyring.accepts(thing))


@dataclass(frozen=True)
class Writer:
    """Opens, puts a segment and a manifest, looks at announcements, intents, keyrings. A quick one puts at once."""

    name: str
    quick: bool = False
    step: int = 0
    keyring: Keyring = field(default_factory=lambda: Keyring(0, ""))
    doubt: bool = False
    outcome: str = ""


@dataclass(frozen=True)
class Rotation:
    name: str
    step: int = 0
    base: Keyring = field(default_factory=lambda: Keyring(0, ""))
    manifests: frozenset[Thing] = frozenset()
    draft: Keyring = field(default_factory=lambda: Keyring(0, ""))
    outcome: str = ""


@dataclass(frozen=True)
class Finisher:
    """Reads an intent, looks for its announcement, puts the keyring, clears away."""

    step: int = 0
    intent: Keyring | None = None
    outcome: str = ""


@dataclass(frozen=True)
class Remover:
    """Takes a rotation for dead: sees no intent of it, removes its announcement."""

    step: int = 0
    victim: str = ""
    outcome: str = ""


Process: TypeAlias = Writer | Rotation | Finisher | Remover
Next: TypeAlias = tuple[Medium, Process]


def write(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 0 to 2: open, segment, manifest."""
    name, epoch = writer.name, writer.keyring.id
    match writer.step:
        case 0:
            writer = replace(writer, keyring=medium.newest())
        case 1:
            medium = replace(medium, things=medium.things | {("s", name, epoch)})
        case 2:
            medium = replace(medium, things=medium.things | {("m", name, epoch)})
            writer = replace(writer, doubt=False)
        case _:
            return look(medium, writer)
    return medium, replace(writer, step=writer.step + 1)


def look(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
    """Steps 3 to 6: the look, and after a doubtful one the manifest away and all again."""
    generation = writer.keyring.generation
    match writer.step:
        case 3:
            writer = replace(writer, doubt=bool(medium.announced))
        case 4:
            pending = any(each.generation > generation for each in medium.intents)
            writer = replace(writer, doubt=writer.doubt or pending)
        case 5:
            rotated = medium.newest().generation > generation
            if not rotated and not writer.doubt:
                return medium, replace(writer, outcome="committed")
            writer = replace(writer, doubt=not rotated)
        case 6:
            medium = replace(medium, things=medium.things - {("m", writer.name, writer.keyring.id)})
            return medium, replace(writer, step=2, outcome="" if writer.doubt else "refused")
    return medium, replace(writer, step=writer.step + 1)


def prepare(medium: Medium, rotation: Rotation) -> tuple[Medium, Rotation]:
    """Steps 0 to 5: open, announce, look for others and for newer keyrings, list manifests, then segments, slots."""
    name = rotation.name
    match rotation.step:
        case 0:
            rotation = replace(rotation, base=medium.newest())
        case 1:
            medium = replace(medium, announced=medium.announced | {name})
        case 2 if medium.announced - {name}:
            return medium, replace(rotation, step=20)
        case 3 if medium.newest() != rotation.base:
            return medium, replace(rotation, step=20)
        case 3:
            used = medium.slots | {each.generation for each in medium.keyrings | medium.intents}
            rotation = replace(rotation, draft=Keyring(max(used) + 1, name))
        case 4:
            listed = medium.counted(rotation.base)
            rotation = replace(rotation, manifests=frozenset(each for each in listed if each[0] == "m"))
        case 5:
            listed = frozenset(each for each in medium.counted(rotation.base) if each[0] == "s")
            rotation = replace(rotation, draft=replace(rotation.draft, inventory=rotation.manifests | listed))
    return medium, replace(rotation, step=rotation.step + 1)


def decide(medium: Medium, rotation: Rotation) -> tuple[Medium, Rotation]:
    """Steps 6 to 12: slots, a look at the announcement, intent, another look, keyring, intent and announcement away."""
    name, draft = rotation.name, rotation.draft
    match rotation.step:
        case 6:
            medium = replace(medium, slots=medium.slots | {draft.generation})
        case 7 if name not in medium.announced:
            return medium, replace(rotation, step=20)
        case 8:
            medium = replace(medium, intents=medium.intents | {draft})
        case 9 if name not in medium.announced:
            return medium, replace(rotation, outcome="undecided")
        case 10:
            medium = replace(medium, keyrings=medium.keyrings | {draft})
        case 11:
            medium = replace(medium, intents=medium.intents - {draft})
        case 12 | 20:
            outcome = "done" if rotation.step == 12 else "withdrawn"
            return replace(medium, announced=medium.announced - {name}), replace(rotation, outcome=outcome)
    return medium, replace(rotation, step=rotation.step + 1)


def finish(medium: Medium, finisher: Finisher, intent: Keyring) -> tuple[Medium, Finisher]:
    """Steps 1 to 5: is there a later keyring, is it announced, keyring, intent and announcement away."""
    match finisher.step:
        case 1 if medium.newest().generation > intent.generation:
            return medium, replace(finisher, step=4)
        case 2 if intent.id not in medium.announced and intent not in medium.keyrings:
            return medium, replace(finisher, outcome="nothing to do")
        case 3:
            medium = replace(medium, keyrings=medium.keyrings | {intent})
        case 4:
            medium = replace(medium, intents=medium.intents - {intent})
        case 5:
            medium = replace(medium, announced=medium.announced - {intent.id})
            return medium, replace(finisher, outcome="finished")
    return medium, replace(finisher, step=finisher.step + 1)


def remove(medium: Medium, remover: Remover) -> tuple[Medium, Remover]:
    """Steps 1 and 2: leave alone what has an intent; remove the announcement."""
    if remover.step == 1 and any(each.id == remover.victim for each in medium.intents):
        return medium, replace(remover, outcome="left alone")
    if remover.step == 1:
        return medium, replace(remover, step=2)
    return replace(medium, announced=medium.announced - {remover.victim}), replace(remover, outcome="removed")


def moves(medium: Medium, process: Process) -> Iterator[Next]:
    """Yield what one step of a process leads to: several where it chooses."""
    match process:
        case Writer():
            medium, process = write(medium, process)
            while process.quick and process.step in (1, 2):
                medium, process = write(medium, process)
            yield medium, process
        case Rotation():
            yield prepare(medium, process) if process.step < 6 else decide(medium, process)
        case Finisher(intent=None):
            yield from ((medium, replace(process, intent=intent, step=1)) for intent in medium.intents)
        case Finisher(intent=intent):
            assert intent is not None
            yield finish(medium, process, intent)
        case Remover(step=0):
            yield from ((medium, replace(process, victim=victim, step=1)) for victim in medium.announced)
        case Remover():
            yield remove(medium, process)


def require_sound_medium(medium: Medium) -> None:
    counted = medium.counted(medium.newest())
    assert len({each.generation for each in medium.keyrings}) == len(medium.keyrings), "two keyrings of one generation"
    for what, whose, epoch in counted:
        assert what == "s" or ("s", whose, epoch) in counted, f"{whose} is listed and cannot find its packs: {medium}"


def require_kept(medium: Medium, process: Process) -> None:
    """Require that what a process was told is still so."""
    newest = medium.newest()
    if isinstance(process, Writer) and process.outcome == "committed":
        counted = ("m", process.name, process.keyring.id) in medium.counted(newest)
        assert counted, f"a done commit stopped counting: {process}"
    if isinstance(process, Rotation) and process.outcome == "done":
        assert newest.generation >= process.draft.generation, f"a done rotation was undone: {process}"


def explore(*processes: Process) -> tuple[int, set[tuple[str, ...]]]:
    return Exploration(Rules(moves, require_sound_medium, require_kept), Medium(), processes).run()


def test_two_writers_and_a_rotation_that_may_be_taken_for_dead() -> None:
    states, outcomes = explore(Writer("v", quick=True), Writer("w"), Rotation("r"), Remover(), Finisher())
    assert states > 10_000
    assert ("committed", "refused", "done", "", "") in outcomes
    assert ("committed", "committed", "withdrawn", "removed", "") in outcomes


def test_a_slow_writer() -> None:
    states, outcomes = explore(Writer("w"), Rotation("r"), Remover(), Finisher())
    assert states > 1_000
    assert ("refused", "", "", "finished") in outcomes, "the rotation died after its intent, and was finished"


def test_two_rotations_at_most_one_of_which_wins() -> None:
    """A second one that begins after the first is another matter: it stands on it."""
    states, outcomes = explore(Rotation("q"), Rotation("r"))
    assert states > 100
    assert outcomes & {("done", "withdrawn"), ("withdrawn", "done")}
    assert ("withdrawn", "withdrawn") in outcomes


def test_a_writer_and_two_rotations_with_everybody_around() -> None:
    """A rotation that nobody decided is overtaken by the next one, whoever finishes it late."""
    states, outcomes = explore(Writer("w", quick=True), Rotation("q"), Rotation("r"), Remover(), Finisher())
    assert states > 10_000
    assert ("", "undecided", "done", "removed", "") in outcomes


def test_the_model_finds_what_was_wrong_without_a_look_at_announcements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that looks at keyrings alone loses its commit between the list and the keyring."""
    watchful = look

    def careless(medium: Medium, writer: Writer) -> tuple[Medium, Writer]:
        return watchful(medium, replace(writer, step=5) if writer.step == 3 else writer)

    monkeypatch.setitem(globals(), "look", careless)
    with pytest.raises(AssertionError, match="a done commit stopped counting"):
        explore(Writer("w"), Rotation("r"))
