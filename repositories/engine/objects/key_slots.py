"""The key slots of a generation as they lie on the medium: those that can be read, and those that cannot.

Owns what is said of a slot that cannot be read in any copy. What opens a slot is the opening's.
"""

import contextlib
from dataclasses import dataclass
from functools import partial

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.kinds import ObjectKind, generation_group, names_of, object_id_of
from repositories.engine.keys.slots import Slot, parse_slot
from repositories.engine.limits import MAX_SLOTS
from repositories.engine.objects.pairs import get_bounded, list_names, read_either
from repositories.engine.objects.side_by_side import side_by_side
from repositories.engine.storage.base import Storage

_DAMAGED = (ObjectMissingError, IntegrityError, UnsupportedFormatError)


@dataclass(frozen=True, slots=True)
class BadSlot:
    """A slot of which no copy can be read; `name` is the object's. `unknown_type`: it may be whole for a newer Syncova.

    `holds_another`: under its name lies the only whole copy of another slot, which a repair puts where it belongs.
    """

    name: str
    unknown_type: bool = False
    holds_another: bool = False

    @property
    def id(self) -> str:
        """Return its id as hex."""
        return (object_id_of(self.name) or b"").hex()


def list_slots(storage: Storage, repository_id: bytes, generation: int) -> tuple[list[Slot], int]:
    """Return the readable slots of one generation, and how many are damaged or of an unknown type."""
    slots, bad = _look(storage, repository_id, generation)
    return slots, len(bad)


def bad_slots(storage: Storage, repository_id: bytes, generation: int) -> list[BadSlot]:
    """Return the slots of one generation that cannot be read in any copy. Raises the storage's errors."""
    slots, bad = _look(storage, repository_id, generation)
    whole = {slot.facts.slot_id for slot in slots}
    return [_bad_slot(storage, name, error, whole) for name, error in bad]


def _look(storage: Storage, repository_id: bytes, generation: int) -> tuple[list[Slot], list[tuple[str, EngineError]]]:
    def read(name: str) -> Slot | tuple[str, EngineError]:
        try:
            return read_either(storage, ObjectKind.SLOT, name, partial(_parse_slot_of, name, generation))
        except _DAMAGED as error:
            return name, error

    prefix = f"slots/{generation_group(generation)}/"
    names = [name for name in list_names(storage, ObjectKind.SLOT) if name.startswith(prefix)]
    found = list(side_by_side(read, names, storage.reads_at_once))
    bad = [each for each in found if not isinstance(each, Slot)]
    slots = [each for each in found if isinstance(each, Slot) and each.facts.repository_id == repository_id]
    if len(slots) > MAX_SLOTS:
        raise IntegrityError(f"the repository has {len(slots)} key slots", hint=f"at most {MAX_SLOTS} are allowed")
    return slots, bad


def _bad_slot(storage: Storage, name: str, error: EngineError, whole: set[bytes]) -> BadSlot:
    lying = set()
    for copy in names_of(ObjectKind.SLOT, name):
        with contextlib.suppress(*_DAMAGED):
            lying.add(parse_slot(get_bounded(storage, ObjectKind.SLOT, copy)).facts.slot_id)
    return BadSlot(name, isinstance(error, UnsupportedFormatError), bool(lying - whole - {object_id_of(name)}))


def _parse_slot_of(name: str, generation: int, data: bytes) -> Slot:
    """Parse the slot of this name; another one in its place is damage, so that the second copy is read."""
    slot = parse_slot(data)
    if object_id_of(name) != slot.facts.slot_id or slot.facts.generation != generation:
        raise IntegrityError(f"{name} holds another slot", hint="run check")
    return slot
