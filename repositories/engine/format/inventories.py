"""The inventory of a rotation: the objects of older epochs that stay accepted, by name and hash.

Owns the fields only; the newest keyring names the inventory and its BLAKE3.
"""

from repositories.engine.format.records import Hash, ObjectId, Record


class InventoryEntry(Record, frozen=True):
    """One accepted object: its kind, id, and the BLAKE3 of its stored bytes."""

    kind: int
    object_id: ObjectId
    content_hash: Hash


class InventoryRecord(Record, frozen=True):
    """What `inventories/<id>` seals, where no session was open."""

    generation: int
    entries: tuple[InventoryEntry, ...]


class PassingInventoryRecord(InventoryRecord, frozen=True):
    """An inventory of either kind. `sessions` were open when this rotation, or an earlier one, passed them by."""

    sessions: tuple[ObjectId, ...] = ()
