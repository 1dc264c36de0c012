"""The look-up structure: chunk id → place.

Owns the answer to two questions: is a chunk present for deduplication, and where can it be read. Most of it is a table
that the indexes of one process share; what one of them learns lies in a second table of its own.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from repositories.engine.ids import ChunkKind
from repositories.engine.index.places import PlaceTable
from repositories.engine.packs.directory import PackRecord
from repositories.engine.packs.reader import BlockPlace
from repositories.engine.packs.table import split_table, table_layout

_LAYOUTS_KEPT = 128
_Layout = tuple[int, BlockPlace, bytes, tuple[int, ...]]
IsThere = Callable[[bytes, int], bool]
"""Tells of a pack (id, length) whether it is on the medium as it was put."""


class Location(msgspec.Struct, frozen=True, gc=False):
    """Where a chunk lies: pack, number of the block, offset and length in the decoded block."""

    pack: bytes
    block: int
    offset: int
    length: int
    place: BlockPlace


class ChunkIndex:
    """All known chunks. Additions take a lock; questions take none and may run beside them.

    `unusable` packs (marked by a prune) and `damaged` chunks (pack id → chunk ids, empty for the whole pack) can be
    located but are not present: new content is stored again. `base` is shared and not changed. A place has an ordinal;
    those of the base come first. `found_absent` are packs that were not there when they were first used.
    """

    def __init__(
        self, unusable: frozenset[bytes], damaged: Mapping[bytes, frozenset[bytes]], base: PlaceTable | None = None
    ) -> None:
        self._unusable = unusable
        self._damaged = damaged
        self._base = PlaceTable() if base is None else base
        self._own = PlaceTable()
        self._first_own = len(self._base)
        self._tables = ((self._base, 0), (self._own, self._first_own))
        self._in_base = self._base.chunks.find_near
        self._in_own = self._own.chunks.find
        self._doubtful = bytearray()  # by ordinal; empty while there is none
        self._unseen = bytearray()  # by ordinal: 1 where it is not known whether the pack is there
        self._is_there: IsThere = _always
        self.found_absent: set[bytes] = set()
        self._layouts: dict[int, _Layout] = {}
        self._last: _Layout | None = None
        self._lock = threading.Lock()
        for pack_id in {*unusable, *damaged} if self._first_own else ():
            number = self._base.packs.find(pack_id)
            if number is not None:
                first, end = self._base.span(number)
                self._doubt(pack_id, first, b"".join(self._base.chunks.between(first, end)))

    @property
    def base(self) -> PlaceTable:
        """Return the shared table; `packs` gives all that it holds."""
        return self._base

    def packs(self) -> "KnownPacks":
        """Return all known packs by id; their records are made when they are asked for."""
        return KnownPacks(self._base, self._own)

    def add(self, packs: Iterable[PackRecord]) -> None:
        """Add packs; those already known are skipped."""
        with self._lock:
            for pack in packs:
                if self._base.packs.find(pack.pack_id) is not None:
                    self._base.add(pack)
                    continue
                if self._own.packs.find(pack.pack_id) is None and self._is_doubted(pack.pack_id):
                    ids = b"".join(split_table(block.table)[2] for block in pack.blocks)
                    self._doubt(pack.pack_id, self._first_own + len(self._own), ids)
                self._own.add(pack)

    def places_in(self, packs: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield (ordinal, chunk id) of all that lies in these packs."""
        for pack_id in packs:
            for table, offset in self._tables:
                number = table.packs.find(pack_id)
                if number is not None:
                    first, end = table.span(number)
                    yield from enumerate(table.chunks.between(first, end), offset + first)

    def distrust(self, packs: frozenset[bytes]) -> None:
        """Make these packs unusable: what no other pack holds is no longer present."""
        with self._lock:
            packs = packs - self._unusable
            self._unusable |= packs
            for ordinal, _ in self.places_in(packs):
                self._set_doubtful(ordinal)

    def look_when_used(self, is_there: IsThere) -> None:
        """Ask of each pack that is known by now before a chunk in it counts as present for the first time."""
        self._is_there = is_there
        self._unseen = bytearray(b"\1") * (self._first_own + len(self._own))

    def present(self, chunk_id: bytes) -> int | None:
        """Return the chunk's ordinal if it counts as stored, else None. Cheap: a microsecond."""
        ordinal = self._in_base(chunk_id)
        if ordinal is None:
            ordinal = self._in_own(chunk_id)
            if ordinal is None:
                return None
            ordinal += self._first_own
        if self._unseen:
            self._look_at((ordinal,))
        if not self._doubtful or not self._is_doubtful(ordinal):
            return ordinal
        if self._unseen:
            self._look_at(self._ordinals(chunk_id))
        return next((each for each in self._ordinals(chunk_id) if not self._is_doubtful(each)), None)

    def packs_where(self, flags: bytes | bytearray) -> frozenset[bytes]:
        """Return the packs with a place whose byte, by its ordinal, is 1."""
        return frozenset(
            table.packs.at(number)
            for table, offset in self._tables
            for number, first, end in table.spans()
            if flags.find(1, offset + first, offset + end) >= 0
        )

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Location | None:
        """Return the best place of a chunk, or None if no index names it."""
        # Nearly always the first place is present and of this kind: that is asked for without generators.
        ordinal = self.present(chunk_id)
        found = None if ordinal is None else self._location(kind, ordinal)
        return found if found is not None else next(self.locations(kind, chunk_id), None)

    def locations(self, kind: ChunkKind, chunk_id: bytes) -> Iterator[Location]:
        """Yield all places of a chunk, those that count as present first."""
        found = list(self._ordinals(chunk_id))
        if self._doubtful:
            found.sort(key=self._is_doubtful)
        for ordinal in found:
            location = self._location(kind, ordinal)
            if location is not None:
                yield location

    def _location(self, kind: ChunkKind, ordinal: int) -> Location | None:
        """Return the place with this ordinal, None if a chunk of another kind lies there."""
        layout = self._last
        if layout is None or not 0 <= ordinal - layout[0] < len(layout[2]):
            layout = self._last = self._layout(ordinal)
        start, place, kinds, offsets = layout
        position = ordinal - start
        if kinds[position] != kind:
            return None
        offset = offsets[position]
        return Location(place.pack_id, place.number, offset, offsets[position + 1] - offset, place)

    def _ordinals(self, chunk_id: bytes) -> Iterator[int]:
        """Yield all places of a chunk, in the order in which they were added."""
        yield from self._base.chunks.numbers(chunk_id)
        for number in self._own.chunks.numbers(chunk_id):
            yield self._first_own + number

    def _layout(self, ordinal: int) -> _Layout:
        """Return first ordinal, place, kinds and offsets of the block of a place.

        Blocks asked for lately are kept: restores ask in runs.
        """
        table, offset = self._tables[ordinal >= self._first_own]
        key = offset + table.starts[table.block_of(ordinal - offset)]
        layout = self._layouts.get(key)
        if layout is None:
            start, place = table.place(ordinal - offset)
            if len(self._layouts) >= _LAYOUTS_KEPT:
                self._layouts.clear()
            layout = self._layouts[key] = (offset + start, place, *table_layout(place.record.table))
        return layout

    def _look_at(self, ordinals: Iterable[int]) -> None:
        """Look at the packs of these places, where that was not done yet."""
        for ordinal in ordinals:
            if ordinal >= len(self._unseen) or not self._unseen[ordinal]:
                continue
            table, offset = self._tables[ordinal >= self._first_own]
            number = table.pack_of(ordinal - offset)
            first, end = table.span(number)
            pack_id, length = table.pack_length(number)
            if not self._is_there(pack_id, length):
                self.found_absent.add(pack_id)
                self.distrust(frozenset({pack_id}))
            # Last: until then other threads look for themselves.
            self._unseen[offset + first : offset + end] = bytes(end - first)

    def _is_doubted(self, pack_id: bytes) -> bool:
        return pack_id in self._unusable or pack_id in self._damaged

    def _doubt(self, pack_id: bytes, first: int, ids: bytes) -> None:
        """Set the places of a pack doubtful that `unusable` and `damaged` say: all, or some."""
        some = frozenset() if pack_id in self._unusable else self._damaged[pack_id]
        width = self._own.chunks.width
        for number in range(len(ids) // width):
            if not some or ids[number * width : (number + 1) * width] in some:
                self._set_doubtful(first + number)

    def _set_doubtful(self, ordinal: int) -> None:
        if ordinal >= len(self._doubtful):
            self._doubtful.extend(bytes(max(4096, ordinal + 1 - len(self._doubtful))))
        self._doubtful[ordinal] = 1

    def _is_doubtful(self, ordinal: int) -> bool:
        return ordinal < len(self._doubtful) and self._doubtful[ordinal] == 1


class KnownPacks(Mapping[bytes, PackRecord]):
    """Packs by id, in the order in which they were added. A view: what is added later is seen."""

    def __init__(self, *tables: PlaceTable) -> None:
        self._tables = tables

    def __len__(self) -> int:
        """Return the number of packs."""
        return sum(len(table.packs) for table in self._tables)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the ids."""
        for table in self._tables:
            yield from table.packs.between(0, len(table.packs))

    def __getitem__(self, pack_id: bytes) -> PackRecord:
        """Return a pack's record."""
        for table in self._tables:
            number = table.packs.find(pack_id)
            if number is not None:
                return table.record(number)
        raise KeyError(pack_id)

    def __contains__(self, pack_id: object) -> bool:
        """Tell whether a pack is known."""
        return isinstance(pack_id, bytes) and any(table.packs.find(pack_id) is not None for table in self._tables)

    def lengths(self) -> Iterator[tuple[bytes, int]]:
        """Yield (id, length) of all packs, without making records."""
        for table in self._tables:
            yield from table.pack_lengths()


def _always(pack_id: bytes, length: int) -> bool:
    del pack_id, length
    return True
