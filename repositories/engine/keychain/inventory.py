"""The inventory of a rotation: every object that counts under the keys as they were, by kind, id and BLAKE3.

Owns which kinds it names: all that an epoch's key seals, but for packs (an index segment vouches for them), leases and
announcements (no matter of trust) and inventories (the keyring names the one that counts).
"""

from dataclasses import dataclass

import blake3

from repositories.engine.errors import (
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.inventories import InventoryEntry, InventoryRecord
from repositories.engine.format.kinds import ObjectKind, most_record, object_id_of
from repositories.engine.format.records import encode
from repositories.engine.objects.pairs import read_either
from repositories.engine.objects.store import ObjectStore

INVENTORIED = (
    # Index segments after what refers to them: a manifest that is named has its segment named, too.
    ObjectKind.MANIFEST,
    ObjectKind.CHECKPOINT,
    ObjectKind.INDEX,
    ObjectKind.ANNOTATION,
    ObjectKind.TOMBSTONE,
    ObjectKind.MARK,
    ObjectKind.SWEEP,
    ObjectKind.CONTROLLER,
    ObjectKind.VERIFIED,
    ObjectKind.DAMAGE,
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The entries, and the names of objects that no copy of can be read: they stay behind."""

    entries: tuple[InventoryEntry, ...]
    unreadable: tuple[str, ...]


def gather_inventory(store: ObjectStore) -> Gathered:
    """Read every object that counts. Raises the storage's errors; what a retired key sealed does not count already."""
    entries: list[InventoryEntry] = []
    unreadable: list[str] = []
    for kind in INVENTORIED:
        for name in store.names(kind):
            try:
                entries.append(_entry(store, kind, name))
            except (ObjectMissingError, RetiredKeyError):
                continue
            except (IntegrityError, UnsupportedFormatError):
                unreadable.append(name)
    return Gathered(tuple(entries), tuple(unreadable))


def encode_inventory(generation: int, gathered: Gathered) -> bytes:
    """Return the record's bytes. Raises RepositoryError if they are more than a reader takes."""
    payload = encode(InventoryRecord(generation, gathered.entries))
    if len(payload) > most_record(ObjectKind.INVENTORY):
        raise RepositoryError(
            f"the repository has {len(gathered.entries):,} objects, too many for one inventory", hint="prune it first"
        )
    return payload


def _entry(store: ObjectStore, kind: ObjectKind, name: str) -> InventoryEntry:
    object_id = object_id_of(name)
    if object_id is None:
        raise IntegrityError(f"{name} is no name of an object")

    def parse(data: bytes) -> bytes:
        store.open(kind, object_id, data)
        return blake3.blake3(data).digest()

    return InventoryEntry(kind, object_id, read_either(store.storage, kind, name, parse))
