"""Takes away what a sweep has decided on: index, packs, then all small objects that are of no more use.

Owns the order (docs/repository-format.md, section 7): a new index before the old one goes, the packs behind both.
Whatever is left when it is killed, the next prune finds by itself.
"""

import contextlib
from collections.abc import Iterable

from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.objects.pairs import delete_all
from repositories.engine.objects.store import ObjectStore
from repositories.engine.prune.fence import Fence
from repositories.engine.prune.keeping import Kept
from repositories.engine.prune.remains import (
    annotations_of_gone,
    damage_of_gone,
    idle_results,
    idle_tombstones,
    merger_of_tombstones,
    remains_of_keys,
    torn_notes,
)
from repositories.engine.prune.report import Beat, PruneReport
from repositories.engine.prune.segments import SMALL_BYTES, SegmentWriter
from repositories.engine.prune.survey import Seen, Survey
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.views import read_sweep_records

_BETWEEN_PROOFS = 64


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

    def leavings(self, kept: Kept, now_ns: int) -> None:
        """Remove all small objects that are of no more use to anybody; the marks last."""
        self._remove_manifests(kept, now_ns)
        self._remove_all(ObjectKind.CHECKPOINT, kept.checkpoints_gone)
        self._remove_notes(now_ns)
        self._remove_names(remains_of_keys(self._store))
        number = self._fence.number
        sweeps = {each for each, record in read_sweep_records(self._store).items() if record.number == number}
        self._remove_all(ObjectKind.SWEEP, set(self._store.ids(ObjectKind.SWEEP)) - sweeps)
        # Marks last: each of them has been answered by a sweep that is there.
        self._remove_all(ObjectKind.MARK, self._store.ids(ObjectKind.MARK))

    def _remove_manifests(self, kept: Kept, now_ns: int) -> None:
        self._remove_all(ObjectKind.MANIFEST, kept.manifests_gone)
        self._report.removed_backups = len(kept.manifests_gone)
        if kept.void_gone:
            # Another backup may name one among its heads: it is gone on purpose.
            self._bury(kept.void_gone, now_ns, "void for two weeks: its writer had been given up by a prune")
            self._remove_all(ObjectKind.MANIFEST, kept.void_gone)

    def _remove_notes(self, now_ns: int) -> None:
        store = self._store
        self._remove_all(ObjectKind.ANNOTATION, annotations_of_gone(store))
        self._remove_all(ObjectKind.DAMAGE, damage_of_gone(store, self._gone | self._survey.damaged_and_gone()))
        self._remove_all(ObjectKind.VERIFIED, idle_results(store, now_ns))
        for kind, torn in torn_notes(store).items():
            self._remove_all(kind, torn)
        # These first: what is undone must be gone for a whole prune before that which undoes it goes.
        self._remove_all(ObjectKind.TOMBSTONE, idle_tombstones(store))
        with contextlib.suppress(StorageFullError):
            while merger := merger_of_tombstones(store):
                self._bury(merger.manifests, now_ns, "several deletions, all of them done")
                self._remove_all(ObjectKind.TOMBSTONE, merger.replaced)

    def _bury(self, manifests: Iterable[bytes], now_ns: int, reason: str) -> None:
        """Put a tombstone; whoever relies on it makes sure that it counts, as each removal does."""
        self._store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord(tuple(sorted(manifests)), now_ns, reason)))

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
        self._remove_names([(kind, object_name(kind, object_id)) for object_id in sorted(ids)])

    def _remove_names(self, names: Iterable[tuple[ObjectKind, str]]) -> None:
        for count, (kind, name) in enumerate(names):
            if count % _BETWEEN_PROOFS == 0:
                self._fence.require_alone()
            delete_all(self._store.storage, kind, name)
            self._report.removed_objects += 1
