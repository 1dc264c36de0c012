"""The catalogue: the segments on the medium, read once each, and the chunk index made of them.

Owns keeping both in step with the medium. Never decides what is deleted.
"""

import contextlib
import threading
from collections.abc import Callable, Mapping

from repositories.engine.errors import RetiredKeyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.segments import SegmentRecord, live_segments
from repositories.engine.objects.store import ObjectStore, steadily

AcceptsSegment = Callable[[bytes, int], bool]


class Catalogue:
    """Segments of one opened repository, cached for its life: they are never changed on the medium."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._segments: dict[bytes, SegmentRecord] = {}
        self._lock = threading.Lock()

    def live(self, accepts: AcceptsSegment) -> dict[bytes, SegmentRecord]:
        """List the medium and return its live segments. Raises if one that is listed cannot be read."""
        with self._lock:
            # A prune that ran meanwhile has replaced what vanished; the second look sees its segment.
            self._segments = steadily(self._read_listed)
            accepted = {each: record for each, record in self._segments.items() if accepts(each, record.fence)}
        return live_segments(accepted)

    def remember(self, segment_id: bytes, record: SegmentRecord) -> None:
        """Add a segment that this process has put itself."""
        with self._lock:
            self._segments[segment_id] = record

    def _read_listed(self) -> dict[bytes, SegmentRecord]:
        segments: dict[bytes, SegmentRecord] = {}
        for segment_id in self._store.ids(ObjectKind.INDEX):
            known = self._segments.get(segment_id)
            if known is not None:
                segments[segment_id] = known
                continue
            with contextlib.suppress(RetiredKeyError):
                segments[segment_id] = decode(self._store.read(ObjectKind.INDEX, segment_id), SegmentRecord)
        return segments


def build_index(
    live: Mapping[bytes, SegmentRecord], unusable: frozenset[bytes], damaged: Mapping[bytes, frozenset[bytes]]
) -> ChunkIndex:
    """Return the look-up structure over live segments."""
    index = ChunkIndex(unusable, damaged)
    for segment in live.values():
        index.add(segment.packs)
    return index
