"""What sessions leave that were open when a rotation passed them by: refused, and no use of an old password.

Owns telling it from what an ended key has sealed otherwise, and what such a session takes back of its own. The
inventory names those sessions, under the new key. Who has an ended password can still write in the name of one of them:
so this explains, and proves nothing.
"""

from collections.abc import Iterator
from typing import Final

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import Record
from repositories.engine.objects.retired import read_retired, unlisted_ids
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.taking_back import NO_ROOM, REASON


class _SessionSecond(Record, frozen=True):
    """How the records of index segments, marks and sweeps begin."""

    number: int
    session_id: bytes


class _SessionFourth(Record, frozen=True):
    """How the records of manifests and checkpoints begin."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes


_HEADS: Final[dict[ObjectKind, type[_SessionSecond] | type[_SessionFourth]]] = {
    ObjectKind.INDEX: _SessionSecond,
    ObjectKind.MARK: _SessionSecond,
    ObjectKind.SWEEP: _SessionSecond,
    ObjectKind.MANIFEST: _SessionFourth,
    ObjectKind.CHECKPOINT: _SessionFourth,
}
_RESULTS: Final = frozenset({ObjectKind.VERIFIED, ObjectKind.DAMAGE})
# Not manifests, tombstones, marks and sweeps: they explain to other machines why what they saw does not count.
_OF_NO_USE: Final = (ObjectKind.INDEX, ObjectKind.CHECKPOINT, *sorted(_RESULTS))
# Of these the records name the session; a checkpoint goes before the segments that list its packs.
_OWN: Final = (ObjectKind.CHECKPOINT, ObjectKind.INDEX)


def is_explained(store: ObjectStore, kind: ObjectKind, object_id: bytes) -> bool:
    """Tell whether a session that a rotation passed by explains this object, which an ended key has sealed.

    Results of checks name no session: any of them explains one. Raises the storage's errors.
    """
    if not store.passed_by:
        return False
    if kind in _RESULTS:
        return True
    if kind is ObjectKind.TOMBSTONE:
        return _takes_back(store, object_id)
    return kind in _HEADS and _session_of(store, kind, object_id) in store.passed_by


def leavings_of_passed_by(store: ObjectStore) -> Iterator[tuple[ObjectKind, bytes]]:
    """Yield kind and id of such objects that are of no use to anybody. Raises the storage's errors."""
    for kind in _OF_NO_USE if store.passed_by else ():
        for object_id in unlisted_ids(store, kind):
            if is_explained(store, kind, object_id):
                yield kind, object_id


def take_back_leavings(newer: ObjectStore, session_id: bytes) -> int:
    """Remove what one's own session has put that a rotation passed by, and that is of no use; return how many objects.

    `newer` is the repository opened with the newer keys: its inventory alone tells what of the session was listed in
    time and counts. What explains something to others stays, and packs do: that none of them is named by what counts,
    a prune alone can know. Raises the storage's errors; called again, it goes on.
    """
    removed = 0
    for kind in _OWN:
        # Listed to the end first: what is deleted in between must not hide what follows.
        for object_id in tuple(unlisted_ids(newer, kind)):
            if _session_of(newer, kind, object_id) == session_id:
                newer.remove(kind, object_id)
                removed += 1
    return removed


def _session_of(store: ObjectStore, kind: ObjectKind, object_id: bytes) -> bytes | None:
    """Return which session put what a retired key has sealed; None for what counts, is gone or cannot be read."""
    record = read_retired(store, kind, object_id, _HEADS[kind])
    return None if record is None else record.session_id


def _takes_back(store: ObjectStore, tombstone_id: bytes) -> bool:
    """Tell whether a writer took its own manifest back with it: one that no rotation has listed."""
    record = read_retired(store, ObjectKind.TOMBSTONE, tombstone_id, TombstoneRecord)
    if record is None or record.undoes is not None or record.reason not in (REASON, NO_ROOM):
        return False
    return all((ObjectKind.MANIFEST, each) not in store.inventory for each in record.manifests)
