"""The look-up structure: chunk id → place.

Owns the answer to two questions: is a chunk present for deduplication, and where can it be read. Held in memory as
dictionaries of small numbers over the tables of the segments; the interface is what runs on disk will have, too.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from repositories.engine.ids import ChunkKind
from repositories.engine.packs.directory import HASH_UNKNOWN, BlockRecord, PackRecord
from repositories.engine.packs.reader import BlockPlace
from repositories.engine.packs.table import table_ids, table_layout

_LAYOUTS_KEPT = 128


@dataclass(frozen=True, slots=True)
class Location:
    """Where a chunk lies: pack, number of the block, offset and length in the decoded block."""

    pack: bytes
    block: int
    offset: int
    length: int
    place: BlockPlace


class ChunkIndex:
    """All known chunks. Additions take a lock; questions take none and may run beside them.

    `unusable` packs (marked by a prune) and `damaged` chunks (pack id → chunk ids, empty for the whole pack) can be
    located but are not present: new content is stored again.
    """

    def __init__(self, unusable: frozenset[bytes], damaged: Mapping[bytes, frozenset[bytes]]) -> None:
        self._unusable = unusable
        self._damaged = damaged
        self._present: dict[bytes, int] = {}
        self._doubtful: dict[bytes, int] = {}
        self._spares: dict[bytes, list[int]] = {}
        self._starts: list[int] = []
        self._places: list[BlockPlace] = []
        self._packs: dict[bytes, PackRecord] = {}
        self._layouts: dict[int, tuple[bytes, tuple[int, ...]]] = {}
        self._count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of distinct chunks that are present."""
        return len(self._present)

    def packs(self) -> Mapping[bytes, PackRecord]:
        """Return all known packs by id."""
        return self._packs

    def add(self, packs: Iterable[PackRecord]) -> None:
        """Add packs; those already known are skipped."""
        with self._lock:
            for pack in packs:
                known = self._packs.get(pack.pack_id)
                if known is not None and known.content_hash == HASH_UNKNOWN:
                    self._packs[pack.pack_id] = pack
                elif known is None:
                    self._packs[pack.pack_id] = pack
                    for number, block in enumerate(pack.blocks):
                        self._add_block(pack, number, block)

    def places_in(self, packs: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield (ordinal, chunk id) of all that lies in these packs."""
        for start, place in zip(self._starts, self._places, strict=True):
            if place.pack_id in packs:
                yield from enumerate(table_ids(place.record.table), start)

    def distrust(self, packs: frozenset[bytes]) -> None:
        """Make these packs unusable: what no other pack holds is no longer present."""
        with self._lock:
            packs = packs - self._unusable
            if not packs:
                return
            self._unusable |= packs
            for ordinal, chunk_id in self.places_in(packs):
                self._withdraw(chunk_id, ordinal)

    def present(self, chunk_id: bytes) -> int | None:
        """Return the chunk's ordinal if it counts as stored, else None. Cheap: one dictionary look-up."""
        return self._present.get(chunk_id)

    def block_of(self, ordinal: int) -> int:
        """Return the number, among all known blocks, of the one that holds the chunk with this ordinal."""
        return bisect_right(self._starts, ordinal) - 1

    def packs_where(self, flags: bytes | bytearray) -> frozenset[bytes]:
        """Return the packs with a place whose byte, by its ordinal, is 1."""
        ends = (*self._starts[1:], self._count)
        blocks = zip(self._starts, ends, self._places, strict=True)
        return frozenset(place.pack_id for start, end, place in blocks if flags.find(1, start, end) >= 0)

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Location | None:
        """Return the best place of a chunk, or None if no index names it."""
        return next(self.locations(kind, chunk_id), None)

    def locations(self, kind: ChunkKind, chunk_id: bytes) -> Iterator[Location]:
        """Yield all places of a chunk, those that count as present first."""
        found = [self._present.get(chunk_id), *self._spares.get(chunk_id, ()), self._doubtful.get(chunk_id)]
        for ordinal in found:
            if ordinal is None:
                continue
            at = bisect_right(self._starts, ordinal) - 1
            place = self._places[at]
            kinds, offsets = self._layout(at)
            position = ordinal - self._starts[at]
            if kinds[position] == kind:
                length = offsets[position + 1] - offsets[position]
                yield Location(place.pack_id, place.number, offsets[position], length, place)

    def _layout(self, block: int) -> tuple[bytes, tuple[int, ...]]:
        """Return kinds and offsets of a block's chunks; blocks asked for lately are kept: restores ask in runs."""
        layout = self._layouts.get(block)
        if layout is None:
            if len(self._layouts) >= _LAYOUTS_KEPT:
                self._layouts.clear()
            layout = self._layouts[block] = table_layout(self._places[block].record.table)
        return layout

    def _add_block(self, pack: PackRecord, number: int, block: BlockRecord) -> None:
        ids = table_ids(block.table)
        if not ids:
            return
        start = self._count
        self._starts.append(start)
        self._places.append(BlockPlace(pack.pack_id, pack.header, number, block))
        self._count += len(ids)
        damaged = self._damaged.get(pack.pack_id)
        if pack.pack_id in self._unusable or damaged is not None:
            self._add_doubtful(ids, start, frozenset() if pack.pack_id in self._unusable else damaged)
        elif self._present.keys().isdisjoint(ids) and len(set(ids)) == len(ids):
            self._present.update(zip(ids, range(start, start + len(ids)), strict=True))
        else:
            for ordinal, chunk_id in enumerate(ids, start):
                self._add_duplicate(chunk_id, ordinal)

    def _add_doubtful(self, ids: tuple[bytes, ...], start: int, damaged: frozenset[bytes] | None) -> None:
        for ordinal, chunk_id in enumerate(ids, start):
            if damaged and chunk_id not in damaged:
                self._add_duplicate(chunk_id, ordinal)
            else:
                self._doubtful[chunk_id] = ordinal

    def _withdraw(self, chunk_id: bytes, ordinal: int) -> None:
        if self._present.get(chunk_id) != ordinal:
            return
        usable = (spare for spare in self._spares.get(chunk_id, ()) if not self._is_unusable(spare))
        other = next(usable, None)
        self._doubtful[chunk_id] = ordinal
        if other is None:
            del self._present[chunk_id]
        else:
            self._present[chunk_id] = other

    def _is_unusable(self, ordinal: int) -> bool:
        return self._places[self.block_of(ordinal)].pack_id in self._unusable

    def _add_duplicate(self, chunk_id: bytes, ordinal: int) -> None:
        if self._present.setdefault(chunk_id, ordinal) != ordinal:
            self._spares.setdefault(chunk_id, []).append(ordinal)
