"""Taking backups back from all deletions that name them, and finding out whether that was in time.

Owns the second look. A prune that has decided before it could see the record takes the backup all the same, and a
writer that has put it and not settled it takes it back: while one is at work nobody can know, and the answer says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository
from repositories.engine.retention.writing import NotesWriter, affirm_deletions
from repositories.engine.sessions.half_done import read_leases
from repositories.engine.sessions.views import read_marks, read_newest_sweep


@dataclass(frozen=True, slots=True)
class Returned:
    """Manifests (hex) that are there and no longer deleted, and those that a prune or their writers took before.

    `uncertain`: a prune has begun and not ended, and may have decided about them before, or the writer of some has not
    ended, and may take them back. `undone`: a deletion of some of them was in force until now.
    """

    back: frozenset[str]
    gone: frozenset[str]
    uncertain: bool
    undone: bool = False


def take_back(
    repository: Repository, manifests: Iterable[str], reason: str, writer: NotesWriter | None = None
) -> Returned:
    """Undo every deletion of these manifests (hex), one object for each tombstone that names some of them.

    A crash leaves some of them deleted still; the same call again goes on. Raises the storage's errors.
    """
    repository.require_writable()
    wanted = frozenset(manifests)
    notes = repository.notes()
    by_tombstone: dict[bytes, list[bytes]] = {}
    for manifest_id in map(bytes.fromhex, sorted(wanted)):
        for deletion in notes.deletions.get(manifest_id, ()):
            by_tombstone.setdefault(deletion.tombstone_id, []).append(manifest_id)
    writer = writer or NotesWriter(repository.store, repository.clock)
    for tombstone_id, named in by_tombstone.items():
        writer.undo(tombstone_id, named, reason)
    # Marks before the manifests: a prune that ends in between has its sweep, by which these are listed.
    pending = read_marks(repository.store).highest > read_newest_sweep(repository.store).number
    # Leases before the manifests: what is there once its writer's is gone stays.
    unsettled = _are_unsettled(repository.store, wanted)
    back = frozenset(each.object_id for each in repository.backups()) & wanted
    gone = wanted - frozenset(each.object_id for each in repository.backups(deleted=True))
    affirm_deletions(repository.store, repository.clock, frozenset(map(bytes.fromhex, gone)))
    # A deletion that somebody else has undone already may have been seen by the prune, too.
    ever_deleted = any(bytes.fromhex(each) in notes.ever_deleted for each in wanted)
    uncertain = (pending and ever_deleted) or (unsettled and bool(back))
    return Returned(back, gone, uncertain=uncertain, undone=bool(by_tombstone))


def _are_unsettled(store: ObjectStore, manifests: Iterable[str]) -> bool:
    """Tell whether the lease of a session that put one of these manifests is still there."""
    sessions = read_leases(store)
    return bool(sessions) and any(_writer_of(store, bytes.fromhex(each)) in sessions for each in manifests)


def _writer_of(store: ObjectStore, manifest_id: bytes) -> bytes | None:
    try:
        return decode(store.read(ObjectKind.MANIFEST, manifest_id), ManifestRecord).session_id
    except (ObjectMissingError, IntegrityError, UnsupportedFormatError):
        return None
