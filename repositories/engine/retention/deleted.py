"""Which backups are deleted, read from the medium.

Owns the listing of tombstones and annotations; what they say together is in standing.py. A record is read once in the
life of a `NotesReader`; one that is damaged tells nothing, and is named.
"""

import threading
from collections.abc import Mapping

import msgspec

from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import decode
from repositories.engine.objects.store import ObjectStore, WholeObjects, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.retention.standing import Annotation, Deletion, annotations, deletions


class Notes(msgspec.Struct, frozen=True):
    """All that is said about backups after the fact, by manifest id.

    `damaged` names the annotations that cannot be read: any of them may be a hold. `lost` names such tombstones: any of
    them may undo a deletion. `ever_deleted` are the manifests that any tombstone has named, also those undone.
    """

    deletions: Mapping[bytes, tuple[Deletion, ...]] = msgspec.field(default_factory=dict)
    annotations: Mapping[bytes, tuple[Annotation, ...]] = msgspec.field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    ever_deleted: frozenset[bytes] = frozenset()
    lost: tuple[str, ...] = ()

    def of(self, manifest_id: bytes) -> tuple[Annotation, ...]:
        """Return the annotations of one manifest."""
        return self.annotations.get(manifest_id, ())

    def holds(self, manifest_id: bytes, now_ns: int) -> tuple[Annotation, ...]:
        """Return the holds that a manifest is under."""
        return tuple(each for each in self.of(manifest_id) if each.holds_at(now_ns))

    def deleted(self, now_ns: int) -> frozenset[bytes]:
        """Return the manifests that are deleted: a hold wins over a tombstone."""
        return frozenset(each for each in self.deletions if not self.holds(each, now_ns))


class NotesReader:
    """Reads notes, each record once. Safe in several threads."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._tombstones: Mapping[bytes, TombstoneRecord] = {}
        self._annotations: Mapping[bytes, AnnotationRecord] = {}
        self._unread: tuple[bytes, ...] = ()
        self._lock = threading.Lock()

    def read(self) -> Notes:
        """Return the notes as they are listed now. Raises the storage's errors."""
        with self._lock:
            deleted = self._read_deletions()
            said = steadily(self._list_annotations)
            self._annotations = said.found
            ever_deleted = self._ever_deleted()
            lost = self._whole_once(ObjectKind.TOMBSTONE, self._unread)
        damaged = self._whole_once(ObjectKind.ANNOTATION, said.damaged)
        return Notes(deleted, annotations(said.found), damaged, ever_deleted, lost)

    def deleted(self, now_ns: int) -> frozenset[bytes]:
        """Return the manifests that are deleted at `now_ns`; without any tombstone no annotation is read."""
        with self._lock:
            if not self._read_deletions():
                return frozenset()
        return self.read().deleted(now_ns)

    def lapsed(self, manifests: frozenset[bytes]) -> frozenset[bytes]:
        """Return those of `manifests` whose deletions were all undone."""
        with self._lock:
            in_force = self._read_deletions()
            named = self._ever_deleted()
        return (manifests & named) - in_force.keys()

    def _whole_once(self, kind: ObjectKind, damaged: tuple[bytes, ...]) -> tuple[str, ...]:
        """Return names of damaged records but for those torn in their put: of them nobody was ever told anything."""
        return tuple(object_name(kind, each) for each in damaged if not was_torn(self._store.storage, kind, each))

    def _ever_deleted(self) -> frozenset[bytes]:
        deleting = (record for record in self._tombstones.values() if record.undoes is None)
        return frozenset(each for record in deleting for each in record.manifests)

    def _read_deletions(self) -> dict[bytes, tuple[Deletion, ...]]:
        # A damaged tombstone deletes nothing: what it named is there again, and check reports it.
        listed = steadily(
            lambda: self._store.read_whole(
                ObjectKind.TOMBSTONE, self._tombstones, lambda payload: decode(payload, TombstoneRecord)
            )
        )
        self._tombstones, self._unread = listed.found, listed.damaged
        return deletions(listed.found)

    def _list_annotations(self) -> WholeObjects[AnnotationRecord]:
        return self._store.read_whole(
            ObjectKind.ANNOTATION, self._annotations, lambda payload: decode(payload, AnnotationRecord)
        )


def deleted_manifests(store: ObjectStore, now_ns: int) -> frozenset[bytes]:
    """Return the ids of the manifests that a sweep may leave out, by what lies on the medium now.

    Those that a tombstone names which no other undoes, less those under a hold in force at `now_ns`. While an
    annotation cannot be read, which may be a hold, or a tombstone, which may undo a deletion, there are none: nothing
    is lost by waiting.
    """
    notes = NotesReader(store).read()
    return frozenset() if notes.damaged or notes.lost else notes.deleted(now_ns)
