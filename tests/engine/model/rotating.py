"""A rotation of the state model, and whoever takes it for dead: repositories/engine/keychain/rotation.py, step by step.

Two rotations at once, and finishing by others, are the matter of tests/engine/keychain/test_rotation_model.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.engine.model.medium import (
    ANNOUNCEMENT,
    INDEX,
    KEYS,
    MANIFEST,
    MARK,
    NOTE,
    NOTHING,
    SWEEP,
    KeyObject,
    Objects,
    guarded,
    known,
    of_kind,
)
from tests.engine.model.program import PROGRAMS, Move, Program, Take


class Rotation(NamedTuple):
    """One rotation; `listed` is what its inventory names."""

    name: str = "rotation"
    at: str = "announce"
    listed: Objects = NOTHING
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """Require that a rotation which was reported is done."""
        if self.outcome == "done":
            assert any(each.what == "keyring" for each in of_kind(medium, KEYS))

    def ended(self, outcome: str) -> "Rotation":
        return Rotation(at="", outcome=outcome)


class Remover(NamedTuple):
    """Anybody who takes the rotation for dead, rightly or not: sees no intent, then removes the announcement."""

    name: str = "remover"
    at: str = "look"
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """Nobody is promised anything by it."""


class Finisher(NamedTuple):
    """Anybody who opens the repository: reads the intent, looks for its announcement, puts the keyring, clears away."""

    name: str = "finisher"
    at: str = "intents"
    listed: Objects = NOTHING
    outcome: str = ""

    def require_kept(self, medium: Objects) -> None:
        """What it finishes counts as the rotation's own keyring does."""


def _announce(medium: Objects, rotation: Rotation) -> Iterator[Move]:
    first = "manifests" if guarded("a rotation lists manifests before segments") else "segments"
    announced = {ANNOUNCEMENT} if guarded("a rotation announces itself before it lists") else NOTHING
    yield medium | announced, rotation._replace(at=first)


def _listing(kind: int, following: str) -> Take:
    def take(medium: Objects, rotation: Rotation) -> Iterator[Move]:
        after = following
        if not guarded("a rotation lists manifests before segments"):
            after = {"segments": "manifests", "manifests": "notes"}.get(rotation.at, following)
        listed = known(medium, 1, kind)
        if kind in (MARK, SWEEP) and not guarded("marks and sweeps are in the inventory"):
            listed = NOTHING
        yield medium, rotation._replace(at=after, listed=rotation.listed | listed)

    return take


def _alive(medium: Objects, rotation: Rotation) -> Iterator[Move]:
    if not guarded("a rotation announces itself before it lists"):
        yield medium | {ANNOUNCEMENT}, rotation._replace(at="intent")
        return
    yield medium, rotation._replace(at="intent") if ANNOUNCEMENT in medium else rotation.ended("withdrawn")


def _intent(rotation: Rotation | Finisher) -> KeyObject:
    return KeyObject(KEYS, "intent", rotation.listed)


def _put_intent(medium: Objects, rotation: Rotation) -> Iterator[Move]:
    yield medium | {_intent(rotation)}, rotation._replace(at="alive still")


def _alive_still(medium: Objects, rotation: Rotation) -> Iterator[Move]:
    decided = ANNOUNCEMENT in medium or not guarded("a rotation looks at its announcement after the intent")
    yield medium, rotation._replace(at="keyring") if decided else rotation.ended("undecided")


def _put_keyring(medium: Objects, process: Rotation | Finisher) -> Iterator[Move]:
    yield medium | {KeyObject(KEYS, "keyring", process.listed)}, process._replace(at="intent away")


def _intent_away(medium: Objects, process: Rotation | Finisher) -> Iterator[Move]:
    yield medium - {_intent(process)}, process._replace(at="announcement away")


def _announcement_away(medium: Objects, process: Rotation | Finisher) -> Iterator[Move]:
    outcome = "done" if isinstance(process, Rotation) else "finished"
    yield medium - {ANNOUNCEMENT}, type(process)(at="", outcome=outcome)


def _look_for_dead(medium: Objects, remover: Remover) -> Iterator[Move]:
    if ANNOUNCEMENT in medium and not any(each.what == "intent" for each in of_kind(medium, KEYS)):
        yield medium, remover._replace(at="remove")


def _remove(medium: Objects, remover: Remover) -> Iterator[Move]:
    yield medium - {ANNOUNCEMENT}, Remover(at="", outcome="removed")


def _read_intents(medium: Objects, finisher: Finisher) -> Iterator[Move]:
    for each in of_kind(medium, KEYS):
        if each.what == "intent":
            yield medium, finisher._replace(at="announced", listed=each.inventory)


def _announced(medium: Objects, finisher: Finisher) -> Iterator[Move]:
    keyrings = [each for each in of_kind(medium, KEYS) if each.what == "keyring"]
    decided = ANNOUNCEMENT in medium or bool(keyrings)
    yield medium, finisher._replace(at="keyring") if decided else Finisher(at="", outcome="nothing to do")


def _rotation() -> Program:
    program = Program()
    add = program.add
    add("announce", _announce, writes=KEYS, operations="put sessions, put keychanges, list keychanges, list keyrings")
    add("manifests", _listing(MANIFEST, "segments"), reads=MANIFEST, operations="list manifests, list checkpoints")
    add("segments", _listing(INDEX, "notes"), reads=INDEX, operations="list index")
    add("notes", _listing(NOTE, "marks"), reads=NOTE, operations="list annotations, list tombstones")
    add("marks", _listing(MARK, "sweeps"), reads=MARK, operations="list marks")
    add("sweeps", _listing(SWEEP, "alive"), reads=SWEEP, operations="list sweeps")
    add("alive", _alive, reads=KEYS, operations="put slots, put inventories, size keychanges")
    add("intent", _put_intent, writes=KEYS, operations="put intents")
    add("alive still", _alive_still, reads=KEYS, operations="size keychanges")
    add("keyring", _put_keyring, writes=KEYS, operations="put keyrings")
    add("intent away", _intent_away, writes=KEYS, operations="delete intents")
    add("announcement away", _announcement_away, writes=KEYS, operations="delete keychanges")
    return program


def _remover() -> Program:
    program = Program()
    program.add("look", _look_for_dead, reads=KEYS)
    program.add("remove", _remove, writes=KEYS)
    return program


def _finisher() -> Program:
    program = Program()
    program.add("intents", _read_intents, reads=KEYS)
    program.add("announced", _announced, reads=KEYS)
    program.add("keyring", _put_keyring, writes=KEYS)
    program.add("intent away", _intent_away, writes=KEYS)
    program.add("announcement away", _announcement_away, writes=KEYS)
    return program


PROGRAMS[Rotation] = _rotation()
PROGRAMS[Remover] = _remover()
PROGRAMS[Finisher] = _finisher()
