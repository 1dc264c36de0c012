"""The catalogue: the segments on the medium, read once each, and the chunk index made of them.

Owns keeping both in step with the medium, and what this machine keeps of them. Never decides what is deleted.
"""

import threading
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.index.kept_file import KeptFile
from repositories.engine.index.kept_index import AnySegment, load_index, save_index
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.places import PlaceTable
from repositories.engine.index.segments import (
    HeldSegment,
    LiveSegment,
    SegmentHead,
    SegmentRecord,
    decode_segment,
    live_segments,
    weight_of,
)
from repositories.engine.objects.store import ObjectStore, WholeObjects, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.packs.directory import PackRecord

AcceptsSegment = Callable[[bytes, int], bool]
_Segment = SegmentRecord | AnySegment
FEW_BYTES: Final = 1024 * 1024
"""Segments with so few bytes are quicker read than kept: some 25,000 chunks."""
FEW_SEGMENTS: Final = 64


class LiveIndex(msgspec.Struct, frozen=True):
    """What live segments name: `base` holds the packs of most of them, and no others."""

    segments: dict[bytes, LiveSegment]
    base: PlaceTable

    def count(self) -> int:
        """Return how many packs the segments name; one may be counted several times."""
        others = (segment for segment in self.segments.values() if not _is_in(self.base, segment))
        return len(self.base.packs) + sum(len(segment.packs) for segment in others)

    def lengths(self) -> Iterator[tuple[bytes, int]]:
        """Yield (id, length) of the packs that the segments name; one may come several times."""
        yield from self.base.pack_lengths()
        yield from lengths_of(self.segments, self.base)

    def index(self, unusable: frozenset[bytes], damaged: Mapping[bytes, frozenset[bytes]]) -> ChunkIndex:
        """Return a look-up structure of its own over these segments."""
        index = ChunkIndex(unusable, damaged, self.base)
        for segment in self.segments.values():
            if not _is_in(self.base, segment):
                index.add(segment.packs)
        return index


class Catalogue:
    """Segments of one opened repository, held for its life: they are never changed on the medium.

    `kept`: where this machine keeps what was read, for the next time.
    """

    def __init__(self, store: ObjectStore, kept: KeptFile | None = None) -> None:
        self._store = store
        self._kept = kept
        self._looked = False
        self._segments: dict[bytes, _Segment] = {}
        self._damaged: tuple[bytes, ...] = ()
        self._base = PlaceTable()
        self._in_base: frozenset[bytes] = frozenset()
        self._lock = threading.Lock()

    def live(self, accepts: AcceptsSegment) -> dict[bytes, LiveSegment]:
        """List the medium and return its live segments; `damaged` then tells which could not be read.

        What a damaged segment listed is not found: a writer stores it again, a reader reports it missing.
        """
        with self._lock:
            self._look_at_kept()
            # A prune that ran meanwhile has replaced what vanished; the second look sees its segment.
            listed = steadily(self._read_listed)
            self._segments, self._damaged = listed.found, listed.damaged
            accepted = {each: record for each, record in self._segments.items() if accepts(each, record.fence)}
            return dict(self._with_packs(live_segments(accepted)))

    def live_index(self, accepts: AcceptsSegment) -> LiveIndex:
        """Return the live segments as `live` does, most of them as a table that all indexes of this process share."""
        live = self.live(accepts)
        with self._lock:
            added = {each: segment for each, segment in live.items() if not _is_in(self._base, segment)}
            fits = self._fits(live, added)
            if not fits or not self._is_little(added):
                self._make_base(live, added if fits else live, PlaceTable() if not fits else self._base.copy())
            base, known = self._base, self._segments
        return LiveIndex({each: _held(known.get(each), segment) for each, segment in live.items()}, base)

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

    def _read_listed(self) -> WholeObjects[_Segment]:
        return self._store.read_whole(ObjectKind.INDEX, self._segments, decode_segment)

    def _look_at_kept(self) -> None:
        if self._looked or self._kept is None:
            return
        self._looked = True
        found = load_index(self._kept)
        if found is not None:
            self._base = found.table
            self._segments = {**found.segments, **self._segments}
            self._in_base = frozenset(each for each, one in found.segments.items() if isinstance(one, HeldSegment))

    def _with_packs(self, live: dict[bytes, _Segment]) -> Iterator[tuple[bytes, LiveSegment]]:
        """Yield live segments with their packs: read again where these were let go of.

        That happens where one is live which another had replaced. One that cannot be read any more is left out: what a
        prune has removed it speaks of elsewhere.
        """
        for segment_id, segment in live.items():
            if not isinstance(segment, SegmentHead):
                yield segment_id, segment
                continue
            try:
                self._segments[segment_id] = record = decode_segment(self._store.read(ObjectKind.INDEX, segment_id))
            except (IntegrityError, UnsupportedFormatError):
                self._damaged = (*self._damaged, segment_id)
            except ObjectMissingError:
                continue
            else:
                yield segment_id, record

    def _fits(self, live: Mapping[bytes, LiveSegment], added: Mapping[bytes, LiveSegment]) -> bool:
        """Tell whether live segments name all packs of the table."""
        if self._in_base <= live.keys():
            return True
        named = bytearray(len(self._base.packs))
        for segment in live.values():
            if isinstance(segment, HeldSegment) and segment.table is self._base:
                for number in segment.numbers:
                    named[number] = 1
        for segment in added.values():
            for pack in segment.packs:
                known = self._base.packs.find(pack.pack_id)
                if known is not None:
                    named[known] = 1
        return 0 not in named

    def _is_little(self, added: Mapping[bytes, LiveSegment]) -> bool:
        """Tell whether what is not in the table may stay beside it."""
        records = sum(isinstance(segment, SegmentRecord) for segment in self._segments.values())
        weight = sum(map(weight_of, added.values()))
        # A byte a chunk: about a thirtieth of what the table was made of.
        most = max(FEW_BYTES, len(self._base)) if self._in_base else 0
        return records <= FEW_SEGMENTS and weight <= most

    def _make_base(
        self, live: Mapping[bytes, LiveSegment], added: Mapping[bytes, LiveSegment], table: PlaceTable
    ) -> None:
        """Put the added segments' packs into a table; `table` holds those of the other live ones already."""
        old = self._segments
        table.reserve(packs_of(added))
        self._segments = {each: SegmentHead(one.fence, one.replaces) for each, one in old.items()}
        for segment_id, segment in live.items():
            if segment_id in added:
                self._segments[segment_id] = _entered(table, segment)
            elif isinstance(segment, HeldSegment):
                self._segments[segment_id] = _moved(segment, table)
        self._base = table
        self._in_base = frozenset(each for each, one in self._segments.items() if _is_in(table, one))
        weight = sum(map(weight_of, live.values()))
        if self._kept is not None and (weight > FEW_BYTES or len(self._segments) > FEW_SEGMENTS):
            segments = {each: _kept_form(segment) for each, segment in self._segments.items()}
            save_index(self._kept, table, segments)


def _entered(table: PlaceTable, segment: SegmentRecord | HeldSegment) -> SegmentRecord | HeldSegment:
    """Add a segment's packs to a table; return the segment as held there, if the table gives back the same records."""
    numbers = array("I")
    packs = segment.packs
    same = True
    for pack in packs:
        new = table.add(pack)
        number = table.packs.find(pack.pack_id) or 0
        numbers.append(number)
        same = same and (new or table.record(number) == pack)
    if not same:
        return segment
    return HeldSegment(segment.fence, segment.replaces, weight_of(segment), table, numbers)


def _moved(segment: HeldSegment, table: PlaceTable) -> HeldSegment:
    return HeldSegment(segment.fence, segment.replaces, segment.weight, table, segment.numbers)


def _kept_form(segment: _Segment) -> AnySegment:
    return SegmentHead(segment.fence, segment.replaces) if isinstance(segment, SegmentRecord) else segment


def _held(known: _Segment | None, segment: LiveSegment) -> LiveSegment:
    """Return a live segment as it is held by now: its packs are in memory once only."""
    return known if isinstance(known, HeldSegment) else segment


def _is_in(table: PlaceTable, segment: LiveSegment | SegmentHead) -> bool:
    return isinstance(segment, HeldSegment) and segment.table is table


def packs_of(live: Mapping[bytes, LiveSegment]) -> Iterator[PackRecord]:
    """Yield the packs that live segments name; one may come several times."""
    for segment in live.values():
        yield from segment.packs


def lengths_of(live: Mapping[bytes, LiveSegment], known: PlaceTable) -> Iterator[tuple[bytes, int]]:
    """Yield (id, length) of the packs that live segments name, but for what lies in the table `known`.

    One may come several times.
    """
    for segment in live.values():
        if not isinstance(segment, HeldSegment):
            yield from ((pack.pack_id, pack.length) for pack in segment.packs)
        elif segment.table is not known:
            yield from map(segment.table.pack_length, segment.numbers)
