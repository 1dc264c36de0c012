"""Manifests that a backup names and that are neither there nor deleted: lost, or withheld by the storage.

Owns the comparison of what is named with what is listed and what was deleted. Reads no page, reports nothing.
"""

from collections.abc import Iterator, Sequence

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import decode
from repositories.engine.manifest.backups import Backup
from repositories.engine.objects.store import steadily
from repositories.engine.repository import Repository
from repositories.engine.retention.standing import deletions


def withheld(repository: Repository, backups: Sequence[Backup]) -> dict[bytes, str]:
    """Return the manifests that a backup names and that are neither there nor deleted, each with that backup's id."""
    named: dict[bytes, str] = {}
    for backup in backups:
        for manifest_id in _named_by(backup):
            named.setdefault(manifest_id, backup.short_id)
    # Listed after the backups were: whatever one of them names had been put by then.
    missing = named.keys() - set(repository.store.ids(ObjectKind.MANIFEST))
    missing -= _deleted(repository) if missing else set()
    return {each: named[each] for each in missing}


def _named_by(backup: Backup) -> Iterator[bytes]:
    lineage = backup.root.lineage
    yield from lineage.heads
    if lineage.parent_manifest is not None:
        yield lineage.parent_manifest


def _deleted(repository: Repository) -> set[bytes]:
    listed = steadily(
        lambda: repository.store.read_whole(ObjectKind.TOMBSTONE, {}, lambda payload: decode(payload, TombstoneRecord))
    )
    # Not those undone in part; a hold may have come after a prune had decided, and takes nothing back.
    return set(deletions(listed.found))
