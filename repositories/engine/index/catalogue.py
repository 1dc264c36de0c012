"""The catalogue: the segments on the medium, read once each, and the chunk index made of them.

Owns keeping both in step with the medium. Never decides what is deleted.
"""

import threading
from collections.abc import Callable, Iterator, Mapping

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.segments import SegmentRecord, decode_segment, live_segments
from repositories.engine.objects.store import ObjectStore, WholeObjects, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.packs.directory import PackRecord

AcceptsSegment = Callable[[bytes, int], bool]


class Catalogue:
    """Segments of one opened repository, cached for its life: they are never changed on the medium."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._segments: dict[bytes, SegmentRecord] = {}
        self._damaged: tuple[bytes, ...] = ()
        self._lock = threading.Lock()

    def live(self, accepts: AcceptsSegment) -> dict[bytes, SegmentRecord]:
        """List the medium and return its live segments; `damaged` then tells which could not be read.

        What a damaged segment listed is not found: a writer stores it again, a reader reports it missing.
        """
        with self._lock:
            # A prune that ran meanwhile has replaced what vanished; the second look sees its segment.
            listed = steadily(self._read_listed)
            self._segments, self._damaged = listed.found, listed.damaged
            accepted = {each: record for each, record in self._segments.items() if accepts(each, record.fence)}
        return live_segments(accepted)

    def remember(self, segment_id: bytes, record: SegmentRecord) -> None:
        """Add a segment that this process has put itself."""
        with self._lock:
            self._segments[segment_id] = record

    def damaged(self) -> tuple[bytes, ...]:
        """Return the ids of segments that the last listing could not read in any copy."""
        return self._damaged

    def lost(self) -> tuple[bytes, ...]:
        """Return those of `damaged` that were whole once: packs that they alone name are in no index now."""
        storage = self._store.storage
        return tuple(each for each in self._damaged if not was_torn(storage, ObjectKind.INDEX, each))

    def _read_listed(self) -> WholeObjects[SegmentRecord]:
        return self._store.read_whole(ObjectKind.INDEX, self._segments, decode_segment)


def packs_of(live: Mapping[bytes, SegmentRecord]) -> Iterator[PackRecord]:
    """Yield the packs that live segments name; one may come several times."""
    for segment in live.values():
        yield from segment.packs


def build_index(
    live: Mapping[bytes, SegmentRecord], unusable: frozenset[bytes], damaged: Mapping[bytes, frozenset[bytes]]
) -> ChunkIndex:
    """Return the look-up structure over live segments."""
    index = ChunkIndex(unusable, damaged)
    for segment in live.values():
        index.add(segment.packs)
    return index
