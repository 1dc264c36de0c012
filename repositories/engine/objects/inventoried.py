"""Reading the inventory that the newest keyring names: what of earlier epochs counts.

Owns what is said when no copy of it can be read. Without it nothing from before the rotation can be told from what
somebody sealed with an ended key, and so nothing of that counts.
"""

from dataclasses import replace

import blake3

from repositories.engine.errors import (
    IntegrityError,
    InventoryLostError,
    ObjectMissingError,
    UnsupportedFormatError,
)
from repositories.engine.format.inventories import PassingInventoryRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import decode
from repositories.engine.objects.pairs import read_either
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.unopened import place_of

_DAMAGED = (ObjectMissingError, IntegrityError, UnsupportedFormatError)


def with_inventory(store: ObjectStore) -> tuple[ObjectStore, InventoryLostError | None]:
    """Return the store that knows what its keyring's inventory names; as it was, and why, if that is lost.

    Raises the medium's errors.
    """
    record = store.keyring.record
    if record.inventory_id is None:
        return store, None
    name = object_name(ObjectKind.INVENTORY, record.inventory_id)
    try:
        found = read_either(store.storage, ObjectKind.INVENTORY, name, lambda data: _parse(store, data))
    except _DAMAGED:
        place = place_of(store.storage, name)
        message = (
            f"both copies of {place} are lost: it lists what counts of all that is older than the rotation of the keys "
            f"to generation {record.generation}"
        )
        hint = (
            "bring it back from a copy of the repository: without it nothing older can be told from a forgery; list, "
            "check and restore show what was sealed since"
        )
        return store, InventoryLostError(message, hint=hint)
    accepted = {(entry.kind, entry.object_id): entry.content_hash for entry in found.entries}
    return replace(store, inventory=accepted, passed_by=frozenset(found.sessions)), None


def _parse(store: ObjectStore, data: bytes) -> PassingInventoryRecord:
    record = store.keyring.record
    if blake3.blake3(data).digest() != record.inventory_hash:
        raise IntegrityError("the inventory is not the one that the keyring names", hint="bring it back from a copy")
    return decode(store.open(ObjectKind.INVENTORY, record.inventory_id or b"", data), PassingInventoryRecord)
