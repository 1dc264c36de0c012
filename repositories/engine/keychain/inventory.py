"""The inventory of a rotation: every object that counts under the keys as they were, by kind, id and BLAKE3.

Owns which kinds it names: all that an epoch's key seals, but for packs (an index segment vouches for them), leases and
announcements (no matter of trust) and inventories (the keyring names the one that counts).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import blake3

from repositories.engine.errors import (
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.inventories import InventoryEntry, InventoryRecord, PassingInventoryRecord
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

_MOST_SESSIONS: Final = 4096
"""So many sessions that a rotation passed by are named; of the leavings of more a check says that it cannot tell."""


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


def open_sessions(store: ObjectStore, own: bytes) -> tuple[bytes, ...]:
    """Return the sessions that this rotation passes by, but for its `own`, and those that earlier ones did.

    Called last before the inventory is put: what they put from now on is listed nowhere, and is no use of an old
    password. Raises the storage's errors.
    """
    now = [each for each in store.ids(ObjectKind.SESSION) if each != own]
    return tuple(dict.fromkeys([*now, *sorted(store.passed_by)]))[:_MOST_SESSIONS]


def encode_inventory(generation: int, gathered: Gathered, sessions: Iterable[bytes] = ()) -> bytes:
    """Return the record's bytes. Raises RepositoryError if they are more than a reader takes."""
    named = tuple(sessions)
    bare = InventoryRecord(generation, gathered.entries)
    payload = encode(PassingInventoryRecord(generation, gathered.entries, named) if named else bare)
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
