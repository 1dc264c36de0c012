"""Takes away what a sweep has decided on: index, packs, then all small objects that are of no more use.

Owns the order (docs/repository-format.md, section 7): a new index before the old one goes, the packs behind both.
Whatever is left when it is killed, the next prune finds by itself.
"""

import contextlib
from collections.abc import Iterable
from typing import TypeVar

from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import Record, decode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.prune.fence import Fence
from repositories.engine.prune.keeping import Kept
from repositories.engine.prune.report import Beat, PruneReport
from repositories.engine.prune.segments import SMALL_BYTES, SegmentWriter
from repositories.engine.prune.survey import Seen, Survey
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.results import superfluous_results
from repositories.engine.sessions.views import read_sweep_records

_BETWEEN_PROOFS = 64
_NOTES = (ObjectKind.ANNOTATION, ObjectKind.TOMBSTONE, ObjectKind.VERIFIED, ObjectKind.DAMAGE)
_R = TypeVar("_R", bound=Record)


class Removal:
    """Carries out one sweep."""

    def __init__(self, store: ObjectStore, survey: Survey, fence: Fence, report: PruneReport, beat: Beat) -> None:
        self._store = store
        self._survey = survey
        self._fence = fence
        self._report = report
        self._beat = beat
        self._gone: frozenset[bytes] = frozenset()

    def index_and_packs(self, seen: Seen, packs: frozenset[bytes], fields: tuple[int, bytes, int]) -> None:
        """Rewrite the index without `packs`, then remove them. Raises PruneOvertakenError, and errors of the medium.

        On a medium too full for the new index the packs go first, which makes the room: no backup uses them, and
        writers count nothing that the sweep names.
        """
        self._gone = packs
        rewritten = self._to_rewrite(seen, packs)
        try:
            self._write_index(rewritten, packs, fields)
        except StorageFullError:
            self._remove_packs(packs)
            self._write_index(rewritten, packs, fields)
        old = rewritten | (seen.segments.whole.keys() - seen.live.keys()) | set(seen.segments.torn)
        self._remove_all(ObjectKind.INDEX, old)
        self._remove_packs(packs)

    def leavings(self, kept: Kept) -> None:
        """Remove deleted manifests and their annotations, old checkpoints, marks and sweeps, notes on gone packs."""
        self._remove_all(ObjectKind.MANIFEST, kept.manifests_gone)
        self._report.removed_backups = len(kept.manifests_gone)
        self._remove_all(ObjectKind.CHECKPOINT, kept.checkpoints_gone)
        self._remove_all(ObjectKind.ANNOTATION, self._annotations_of_gone())
        self._remove_all(ObjectKind.DAMAGE, self._damage_of_gone())
        self._remove_all(ObjectKind.VERIFIED, self._superfluous_results())
        for kind, torn in torn_notes(self._store).items():
            self._remove_all(kind, torn)
        number = self._fence.number
        sweeps = {each for each, record in read_sweep_records(self._store).items() if record.number == number}
        self._remove_all(ObjectKind.SWEEP, set(self._store.ids(ObjectKind.SWEEP)) - sweeps)
        # Marks last: each of them has been answered by a sweep that is there.
        self._remove_all(ObjectKind.MARK, self._store.ids(ObjectKind.MARK))

    def _to_rewrite(self, seen: Seen, packs: frozenset[bytes]) -> set[bytes]:
        live = seen.live
        small = {each for each, segment in live.items() if segment.size < SMALL_BYTES}
        listing = {each for each in live if any(pack_id in packs for pack_id in self._survey.listing(each))}
        return listing | (small if len(small | listing) > 1 else set())

    def _write_index(self, segments: Iterable[bytes], packs: frozenset[bytes], fields: tuple[int, bytes, int]) -> None:
        writer = SegmentWriter(self._store, fields)
        try:
            for segment_id in sorted(segments):
                self._beat()
                writer.copy(segment_id, lambda pack_id: pack_id not in packs)
            writer.finish()
        except StorageFullError:
            for segment_id in writer.written:
                with contextlib.suppress(RepositoryError):
                    self._store.remove(ObjectKind.INDEX, segment_id)
            raise

    def _remove_packs(self, packs: frozenset[bytes]) -> None:
        sizes = pack_sizes(self._store.storage)
        for count, pack_id in enumerate(sorted(packs & sizes.keys())):
            if count % _BETWEEN_PROOFS == 0:
                self._fence.require_alone()
            self._beat()
            with contextlib.suppress(ObjectMissingError):
                self._store.storage.delete(object_name(ObjectKind.PACK, pack_id))
                self._report.deleted_packs += 1
                self._report.bytes_freed += sizes[pack_id]

    def _remove_all(self, kind: ObjectKind, ids: Iterable[bytes]) -> None:
        for count, object_id in enumerate(sorted(ids)):
            if count % _BETWEEN_PROOFS == 0:
                self._fence.require_alone()
            self._store.remove(kind, object_id)
            self._report.removed_objects += 1

    def _annotations_of_gone(self) -> set[bytes]:
        """Return annotations of manifests that were deleted and are gone; others may come back from a copy."""
        store = self._store
        notes = _read(store, ObjectKind.ANNOTATION, AnnotationRecord)
        if not notes:
            return set()
        graves = _read(store, ObjectKind.TOMBSTONE, TombstoneRecord).values()
        deleted = {each for record in graves if record.undoes is None for each in record.manifests}
        deleted -= set(store.ids(ObjectKind.MANIFEST))
        return {each for each, record in notes.items() if record.manifest_id in deleted}

    def _damage_of_gone(self) -> set[bytes]:
        found = _read(self._store, ObjectKind.DAMAGE, DamageRecord)
        return {each for each, record in found.items() if record.pack_id in self._gone}

    def _superfluous_results(self) -> frozenset[bytes]:
        """Return results of checks that speak of gone packs alone, or that later checks have repeated."""
        return superfluous_results(_read(self._store, ObjectKind.VERIFIED, CheckedRecord), self._gone)


def torn_notes(store: ObjectStore) -> dict[ObjectKind, tuple[bytes, ...]]:
    """Return the notes whose puts never ended, by kind: nobody ever heard that they were put."""
    return {kind: torn for kind in _NOTES if (torn := _torn(store, kind))}


def _torn(store: ObjectStore, kind: ObjectKind) -> tuple[bytes, ...]:
    damaged = steadily(lambda: store.read_whole(kind, {}, bytes)).damaged
    return tuple(each for each in damaged if was_torn(store.storage, kind, each))


def _read(store: ObjectStore, kind: ObjectKind, record_type: type[_R]) -> dict[bytes, _R]:
    return steadily(lambda: store.read_whole(kind, {}, lambda payload: decode(payload, record_type))).found
