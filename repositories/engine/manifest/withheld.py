"""Manifests that something names and that are neither there nor deleted: lost, or withheld by the storage.

Owns the comparison of what is named with what is listed and what was deleted. Reads no page, reports nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

from repositories.engine.display import show_text
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import AnnotationKind, TombstoneRecord
from repositories.engine.format.records import decode
from repositories.engine.ids import OBJECT_ID_LENGTH, short_id
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.objects.retired import retired_records
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import Notes
from repositories.engine.retention.standing import deletions

_LISTED = "the list of what counted at the last rotation of the keys"
Named = Mapping[bytes, str]
"""Manifests, each with what names it, in words."""


def withheld(repository: Repository, backups: Sequence[Backup], notes: Notes | None = None) -> dict[bytes, str]:
    """Return the manifests that are named and neither there nor deleted, each with what names it, in words.

    They are named by `backups`, which were listed before, by the `notes` (read now if None), or by the inventory. Where
    each of them is among `backups` or deleted nothing else is listed. Raises the storage's errors.
    """
    notes = notes or repository.notes()
    named = named_elsewhere(repository.store, notes)
    for backup in backups:
        named.update(dict.fromkeys(named_by(backup.root), name_of(backup.root)))
    known = {bytes.fromhex(backup.manifest_id) for backup in backups} | notes.deletions.keys()
    return missing(repository.store, {each: name for each, name in named.items() if each not in known})


def name_of(root: BackupRoot) -> str:
    """Return what a backup is called where it names another."""
    return f"backup {show_text(short_id(root.backup_id))}"


def named_by(root: BackupRoot) -> Iterator[bytes]:
    """Yield the manifests that a backup names: the heads that it found, and its parent."""
    yield from root.lineage.heads
    if root.lineage.parent_manifest is not None:
        yield root.lineage.parent_manifest


def named_elsewhere(store: ObjectStore, notes: Notes) -> dict[bytes, str]:
    """Return the manifests that the inventory lists, and those that holds, tags and notes in force speak of.

    Each of these was put before that which names it.
    """
    named = {each: _LISTED for kind, each in store.inventory if kind == ObjectKind.MANIFEST}
    for manifest_id, said in notes.annotations.items():
        if len(manifest_id) == OBJECT_ID_LENGTH:
            held = any(each.kind == AnnotationKind.HOLD for each in said)
            named[manifest_id] = "a hold" if held else "a tag or a note"
    return named


def missing(store: ObjectStore, named: Named) -> dict[bytes, str]:
    """Return those of `named` that are neither there nor deleted. Raises the storage's errors.

    `named` was read before this is called: whatever it names had been put by then.
    """
    gone = set(named)
    gone -= set(store.ids(ObjectKind.MANIFEST)) if gone else set()
    # After the manifests: who takes one away has put the tombstone first.
    gone -= _deleted(store) if gone else set()
    if any(named[each] == _LISTED for each in gone):
        taken_back = _taken_back(store)
        gone = {each for each in gone if named[each] != _LISTED or each not in taken_back}
    return {each: named[each] for each in gone}


def _deleted(store: ObjectStore) -> set[bytes]:
    listed = steadily(
        lambda: store.read_whole(ObjectKind.TOMBSTONE, {}, lambda payload: decode(payload, TombstoneRecord))
    )
    # Not those undone in part; a hold may have come after a prune had decided, and takes nothing back.
    return set(deletions(listed.found))


def _taken_back(store: ObjectStore) -> set[bytes]:
    """Return what a writer that a rotation passed by may have taken back after that had listed it.

    Its tombstone came too late and counts for nothing; that nothing but the inventory names such a manifest makes it
    likely, and a prune must not be refused for it.
    """
    retired = retired_records(store, ObjectKind.TOMBSTONE, TombstoneRecord)
    return {each for record in retired if record.undoes is None for each in record.manifests}
