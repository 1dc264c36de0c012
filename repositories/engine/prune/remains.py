"""What piles up in the life of a repository and is of no more use to anybody, besides what a sweep leaves out.

Owns which small objects these are (docs/repository-format.md, section 7, "What goes, and when"). Removes nothing: a
prune does, after its sweep, and after it has made sure that nobody has passed it by.
"""

from collections.abc import Collection
from typing import TypeVar

from repositories.engine.format.kinds import DIRECTORIES, ObjectKind, generation_group, object_name
from repositories.engine.format.notes import AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import Record, decode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore, WholeObjects, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.retention.merging import SEVERAL, Merger, idle, mergeable
from repositories.engine.sessions.fences import split_ids
from repositories.engine.sessions.passed_by import leavings_of_passed_by
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.results import superfluous_results

_NOTES = (
    ObjectKind.ANNOTATION,
    ObjectKind.TOMBSTONE,
    ObjectKind.VERIFIED,
    ObjectKind.DAMAGE,
    ObjectKind.KEY_CHANGE,
)
_BY_GENERATION = (ObjectKind.INTENT, ObjectKind.SLOT, ObjectKind.KEYRING)
_R = TypeVar("_R", bound=Record)


def torn_notes(store: ObjectStore) -> dict[ObjectKind, tuple[bytes, ...]]:
    """Return the notes whose puts never ended, by kind: nobody ever heard that they were put."""
    return {kind: torn for kind in _NOTES if (torn := _torn(store, kind))}


def annotations_of_gone(store: ObjectStore) -> frozenset[bytes]:
    """Return annotations of manifests that were deleted and are gone; others may come back from a copy."""
    notes = _read(store, ObjectKind.ANNOTATION, AnnotationRecord)
    if not notes:
        return frozenset()
    graves = _read(store, ObjectKind.TOMBSTONE, TombstoneRecord).values()
    deleted = {each for record in graves if record.undoes is None for each in record.manifests}
    deleted -= set(store.ids(ObjectKind.MANIFEST))
    return frozenset(each for each, record in notes.items() if record.manifest_id in deleted)


def damage_of_gone(store: ObjectStore, gone: Collection[bytes]) -> frozenset[bytes]:
    """Return what was said of the damage of these packs."""
    found = _read(store, ObjectKind.DAMAGE, DamageRecord)
    return frozenset(each for each, record in found.items() if record.pack_id in gone)


def damaged_packs(store: ObjectStore) -> frozenset[bytes]:
    """Return the packs of which damage was ever noted, also where that was withdrawn."""
    return frozenset(record.pack_id for record in _read(store, ObjectKind.DAMAGE, DamageRecord).values())


def idle_results(store: ObjectStore, now_ns: int) -> frozenset[bytes]:
    """Return results of checks that speak of gone packs alone, or that later checks have repeated until `now_ns`."""
    records = _read(store, ObjectKind.VERIFIED, CheckedRecord)
    # Packs after the results: what a result names was there before it.
    there = pack_sizes(store.storage).keys() if records else frozenset()
    named = {each for record in records.values() for each in split_ids(record.packs)}
    return superfluous_results(records, named - there, now_ns)


def merger_of_tombstones(store: ObjectStore) -> Merger | None:
    """Return what one new tombstone may stand for; nothing while one cannot be read: it may undo any of them."""
    listed = _list(store, ObjectKind.TOMBSTONE, TombstoneRecord)
    if listed.damaged or len(listed.found) < SEVERAL:
        return None
    return mergeable(listed.found, store.ids(ObjectKind.MANIFEST))


def idle_tombstones(store: ObjectStore) -> frozenset[bytes]:
    """Return the tombstones that undo one which an earlier prune has removed."""
    tombstones = _read(store, ObjectKind.TOMBSTONE, TombstoneRecord)
    undoing = any(record.undoes is not None for record in tombstones.values())
    return idle(tombstones, frozenset(store.ids(ObjectKind.TOMBSTONE))) if undoing else frozenset()


def remains_of_keys(store: ObjectStore) -> list[tuple[ObjectKind, str]]:
    """Return (kind, name) of what belongs to earlier generations of the keys, or to rotations that never came to be.

    Whoever removes these must look at the keys after this and find them quiet. A rotation announces itself before its
    inventory: one of which an inventory is listed here, and no announcement there, was taken for dead. When it wakes it
    withdraws, or remains undecided: no keyring will ever name that inventory.
    """
    inventories = f"{DIRECTORIES[ObjectKind.INVENTORY]}/"
    current = store.keyring.record.inventory_id
    needed = "" if current is None else inventories + current.hex()
    found = [(ObjectKind.INVENTORY, name) for name in store.names(ObjectKind.INVENTORY) if name != needed]
    own = generation_group(store.keyring.generation)
    for kind in _BY_GENERATION:
        found += [(kind, name) for name in store.names(kind) if _is_before(name, own)]
    return found + [(kind, object_name(kind, object_id)) for kind, object_id in leavings_of_passed_by(store)]


def has_several(store: ObjectStore, now_ns: int) -> bool:
    """Tell whether so much lies there that a prune is worth its mark and sweep for that alone."""
    if merger_of_tombstones(store) is not None:
        return True
    return len(remains_of_keys(store)) + len(idle_results(store, now_ns)) + len(idle_tombstones(store)) >= SEVERAL


def _is_before(name: str, generation: str) -> bool:
    group = name.split("/")[1]
    return len(group) == len(generation) and group < generation


def _torn(store: ObjectStore, kind: ObjectKind) -> tuple[bytes, ...]:
    damaged = steadily(lambda: store.read_whole(kind, {}, bytes)).damaged
    return tuple(each for each in damaged if was_torn(store.storage, kind, each))


def _read(store: ObjectStore, kind: ObjectKind, record_type: type[_R]) -> dict[bytes, _R]:
    return _list(store, kind, record_type).found


def _list(store: ObjectStore, kind: ObjectKind, record_type: type[_R]) -> WholeObjects[_R]:
    return steadily(lambda: store.read_whole(kind, {}, lambda payload: decode(payload, record_type)))
