"""Putting tombstones and annotations: one object each, beside any number of other writers.

Owns the putting, and the proof that what was put will be read: a key rotation that passed by would leave it behind.
What the records mean is in standing.py; whether they may be put is decided above.
"""

from collections.abc import Iterable

from repositories.engine.clock import Clock
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import (
    AnnotationKind,
    AnnotationRecord,
    CopiedAnnotationRecord,
    TombstoneRecord,
)
from repositories.engine.format.records import encode
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.objects.store import ObjectStore
from repositories.engine.retention.deleted import NotesReader
from repositories.engine.retention.standing import Annotation


class NotesWriter:
    """Puts notes. For one thread.

    Each method waits while the keys are being rotated. It raises the storage's errors, and CommitRefusedError when they
    were rotated: what was put may not count then.
    """

    def __init__(self, store: ObjectStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._keys = KeyWatch(store, clock)

    def delete(self, manifests: Iterable[bytes], reason: str) -> bytes:
        """Put one tombstone for all these manifests; return its id."""
        return self._bury(TombstoneRecord(tuple(sorted(manifests)), self._clock.now_ns(), reason))

    def undo(self, tombstone_id: bytes, manifests: Iterable[bytes], reason: str) -> None:
        """Undo one tombstone's deletion of these manifests (at least one); the rest of it stays."""
        self._bury(TombstoneRecord(tuple(sorted(manifests)), self._clock.now_ns(), reason, tombstone_id))

    def annotate(self, kind: AnnotationKind, manifest_id: bytes, text: str, expires_ns: int | None = None) -> None:
        """Put an annotation."""
        self._say(AnnotationRecord(kind, manifest_id, self._clock.now_ns(), text, expires_ns))

    def carry(self, record: CopiedAnnotationRecord) -> None:
        """Put an annotation of another repository, with the texts and times that it has there."""
        self._say(record)

    def withdraw(self, annotation: Annotation) -> None:
        """End an annotation."""
        self._say(
            AnnotationRecord(
                annotation.kind,
                annotation.manifest_id,
                self._clock.now_ns(),
                "",
                withdraws=annotation.annotation_id,
            )
        )

    def _bury(self, record: TombstoneRecord) -> bytes:
        object_id = self._store.put(ObjectKind.TOMBSTONE, encode(record))
        self._keys.require_quiet("what was put may not count")
        return object_id

    def _say(self, record: AnnotationRecord) -> None:
        self._store.put(ObjectKind.ANNOTATION, encode(record))
        self._keys.require_quiet("what was put may not count")


def affirm_deletions(store: ObjectStore, clock: Clock, manifests: frozenset[bytes]) -> None:
    """Delete again what a sweep that is put has left out, and whose deletion was undone after it was decided.

    It is gone, and nobody may take it for lost or withheld. Whoever undoes a deletion later sees the sweep.
    """
    lapsed = NotesReader(store).lapsed(manifests)
    if lapsed:
        NotesWriter(store, clock).delete(lapsed, "a prune had decided before it was brought back")
