"""Checks the small objects that everything depends on: both copies there, both whole, both what they should be.

Owns the reading of each copy by itself; a reader elsewhere is content with either. What no copy of counts, since its
key was retired, is only counted here: it is as if it were not there.
"""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from repositories.engine.check.leavings import Leavings
from repositories.engine.check.report import Beat, Findings
from repositories.engine.errors import (
    IntegrityError,
    InventoryLostError,
    ObjectMissingError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.config import parse_config
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import (
    DIRECTORIES,
    WRITTEN_TWICE,
    ObjectKind,
    generation_group,
    generation_of,
    names_of,
    object_id_of,
    object_name,
)
from repositories.engine.keys.slots import parse_slot
from repositories.engine.objects.key_slots import bad_slots
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.repository import Repository
from repositories.engine.sessions.half_done import is_half_done, read_leases
from repositories.engine.sessions.passed_by import is_explained

_CLEAR = frozenset({ObjectKind.CONFIG, ObjectKind.SLOT})
_SETTLE_SECONDS = 0.2
_SEALED_ONCE = (
    ObjectKind.CHECKPOINT,
    ObjectKind.ANNOTATION,
    ObjectKind.TOMBSTONE,
    ObjectKind.MARK,
    ObjectKind.CONTROLLER,
    ObjectKind.VERIFIED,
    ObjectKind.DAMAGE,
)
_REPLACED = "an old key sealed it, and it is not what the keys' rotation had listed under its name: it was replaced"


@dataclass(slots=True)
class SmallObjects:
    """What one look at all of them gave. `suspects` have something wrong: a writer may just put or remove them.

    `older` count, though a key from before a rotation sealed them; `disowned` were sealed by such a key and listed by
    no rotation: they do not count. `passed_by` neither, but a session explains them that was open at the rotation.
    """

    count: int = 0
    older: int = 0
    disowned: int = 0
    passed_by: int = 0
    suspects: list[tuple[ObjectKind, str]] = field(default_factory=list)

    def take(self, kind: ObjectKind, name: str, look: "_Look") -> None:
        """Take what one object looks like."""
        self.count += 1
        self.older += look.older
        self.disowned += look.disowned
        self.passed_by += look.passed_by
        if look.wrong:
            self.suspects.append((kind, name))


@dataclass(slots=True)
class _Look:
    """One object: (name of a copy, what is wrong with it)."""

    wrong: list[tuple[str, str]] = field(default_factory=list)
    older: bool = False
    disowned: bool = False
    passed_by: bool = False


def check_copies(repository: Repository, beat: Beat) -> SmallObjects:
    """Read every small object in every copy."""
    found = SmallObjects()
    for kind in (*sorted(WRITTEN_TWICE), *_SEALED_ONCE):
        for name in repository.store.names(kind):
            beat()
            found.take(kind, name, _look_at(repository, kind, name))
    return found


@dataclass(frozen=True, slots=True)
class LoneCopies:
    """Objects of which two whole copies are not there, and which are no problem.

    `half_done`: whoever put or removed them died between the two copies, or is at it. `left_over` mean nothing.
    """

    half_done: int = 0
    left_over: int = 0


def confirm_suspects(repository: Repository, seen: SmallObjects, leavings: Leavings, findings: Findings) -> LoneCopies:
    """Look at the suspects again, and report those that are still there and still wrong."""
    suspects = seen.suspects
    if suspects:
        time.sleep(_SETTLE_SECONDS)
    there = {kind: frozenset(repository.store.names(kind)) for kind, _ in suspects}
    leases = read_leases(repository.store) if suspects else {}
    half_done = left_over = 0
    for kind, name in suspects:
        wrong = _look_at(repository, kind, name).wrong if name in there[kind] else []
        if wrong and is_half_done(repository.store, kind, name, leases):
            half_done += 1
        elif wrong and (leavings.mean_nothing(kind, name) or _is_of_ended_keys(repository, kind, name, wrong)):
            left_over += 1
        else:
            for copy, message in wrong:
                findings.add("copy", copy, message)
    for slot in bad_slots(repository.storage, repository.config.repository_id, repository.keyring.generation):
        if slot.holds_another:
            # Not by its own name: a repair mends it, and it is not to be removed.
            findings.add("keyring", DIRECTORIES[ObjectKind.SLOT], f"under the name {slot.name} lies another key")
        else:
            state = "is of a type that is not known here" if slot.unknown_type else "is whole in no copy"
            findings.add("keyring", slot.name, f"this key {state}")
    return LoneCopies(half_done, left_over)


def _is_of_ended_keys(repository: Repository, kind: ObjectKind, name: str, wrong: Sequence[tuple[str, str]]) -> bool:
    """Tell whether it belongs to an earlier generation of the keys, and nothing can tell a whole copy of it.

    The newest keyring holds all that such a keyring held, and the next prune removes it.
    """
    unknowable = kind is ObjectKind.KEYRING or (kind is ObjectKind.SLOT and len(wrong) == len(names_of(kind, name)))
    return unknowable and generation_of(name) < repository.keyring.generation


def _look_at(repository: Repository, kind: ObjectKind, name: str) -> _Look:
    """Look at all copies of one object."""
    look = _Look()
    if kind is ObjectKind.INVENTORY and object_id_of(name) != repository.keyring.record.inventory_id:
        return look  # of an earlier generation, or of one that never came to be: it means nothing
    copies = names_of(kind, name)
    if not any(_is_there(repository, copy) for copy in copies):
        return look  # removed since it was listed: what nobody lists is no half of anything
    good: set[bytes] = set()
    retired: list[str] = []
    for copy in copies:
        try:
            data = get_bounded(repository.storage, kind, copy)
            _open(repository, kind, name, data)
        except RetiredKeyError:
            retired.append(copy)
        except (ObjectMissingError, IntegrityError, UnsupportedFormatError) as error:
            look.wrong.append((copy, error.message))
        else:
            good.add(data)
    return _judged(repository, kind, name, (look, good, retired))


def _judged(repository: Repository, kind: ObjectKind, name: str, seen: tuple[_Look, set[bytes], list[str]]) -> _Look:
    """Complete a look by what its good copies, and those that a retired key sealed, mean together."""
    look, good, retired = seen
    object_id = object_id_of(name)
    if retired and not good and object_id and (kind, object_id) not in repository.store.inventory:
        if isinstance(repository.refuse_writing, InventoryLostError):
            return _Look()  # nobody knows whether the inventory named it
        explained = is_explained(repository.store, kind, object_id)
        return _Look(disowned=not explained, passed_by=explained)  # it does not count: as if it were not there
    look.wrong.extend((copy, _REPLACED) for copy in retired)
    look.older = any(_is_older(repository, kind, data) for data in good)
    if len(good) > 1:
        other = names_of(kind, name)[1]
        look.wrong.append((name, f"it and {other} differ: one of the two is damaged"))
    return look


def _is_older(repository: Repository, kind: ObjectKind, data: bytes) -> bool:
    if kind in _CLEAR or kind is ObjectKind.KEYRING:
        return False
    return parse_object_header(data).epoch != repository.keyring.current_epoch


def _is_there(repository: Repository, name: str) -> bool:
    try:
        return repository.storage.size(name) >= 0
    except ObjectMissingError:
        return False


def _open(repository: Repository, kind: ObjectKind, name: str, data: bytes) -> None:
    """Raise IntegrityError for a damaged object. A keyring opens by its slot's key alone, which nobody keeps."""
    object_id = object_id_of(name)
    if kind in _CLEAR:
        with contextlib.suppress(UnsupportedFormatError):
            if _name_in(kind, data) != name:
                raise IntegrityError(f"{name} holds what belongs under another name")
    elif kind is not ObjectKind.KEYRING and object_id is not None:
        repository.store.open(kind, object_id, data)


def _name_in(kind: ObjectKind, data: bytes) -> str:
    """Return the name that a config or a slot says is its own. Raises IntegrityError, UnsupportedFormatError."""
    if kind is ObjectKind.CONFIG:
        return object_name(kind, parse_config(data).repository_id)
    facts = parse_slot(data).facts
    return object_name(kind, facts.slot_id, generation_group(facts.generation))
