"""Every place of every chunk in flat arrays: what a prune knows of the index, in about 60 bytes a chunk.

Owns the look-up from chunk id to places, and which places are the same chunk. A place is an ordinal: the position among
all chunks of all packs, in the order in which packs were added; a chunk that lies in three places has three ordinals,
the first of which stands for it. One thread.
"""

import itertools
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.ids import CHUNK_ID_LENGTH
from repositories.engine.packs.directory import BlockRecord, PackRecord
from repositories.engine.packs.reader import BlockPlace
from repositories.engine.packs.table import table_ids, table_layout

_FIRST_SLOTS = 1 << 12


@dataclass(frozen=True, slots=True)
class IndexedPack:
    """A pack as the index lists it, without its blocks; `first` and `end` are the ordinals of its chunks."""

    pack_id: bytes
    length: int
    pack_class: int
    header: bytes
    first: int
    end: int


class CompactIndex:
    """All places of all chunks of the packs that were added."""

    def __init__(self) -> None:
        self.packs: list[IndexedPack] = []
        self._numbers: dict[bytes, int] = {}
        self._first_blocks = array("I")
        self._starts = array("I")
        self._offsets = array("I")
        self._parts = array("I")
        self._ids = bytearray()
        self._kinds = bytearray()
        self._lengths = array("I")
        self._standing = array("I")  # by ordinal: the ordinal that stands for the chunk
        self._next = array("I")  # by ordinal: the next place of the same chunk, plus one
        self._slots = array("I", bytes(4 * _FIRST_SLOTS))  # open addressing: ordinal plus one
        self._chunks = 0

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self._standing)

    @property
    def chunks(self) -> int:
        """Return the number of different chunks."""
        return self._chunks

    def number_of(self, pack_id: bytes) -> int | None:
        """Return the position of a pack among `packs`, or None."""
        return self._numbers.get(pack_id)

    def add(self, pack: PackRecord) -> bool:
        """Add a pack; return False for one that is known."""
        if pack.pack_id in self._numbers:
            return False
        self._numbers[pack.pack_id] = len(self.packs)
        self._first_blocks.append(len(self._starts))
        first = len(self)
        for block in pack.blocks:
            self._add_block(block)
        self.packs.append(IndexedPack(pack.pack_id, pack.length, pack.pack_class, pack.header, first, len(self)))
        return True

    def find(self, chunk_id: bytes) -> int | None:
        """Return the ordinal that stands for a chunk, or None if no pack holds it."""
        at = self._slot(chunk_id)
        return self._slots[at] - 1 if self._slots[at] else None

    def standing(self, ordinal: int) -> int:
        """Return the ordinal that stands for the chunk in a place."""
        return self._standing[ordinal]

    def id_at(self, ordinal: int) -> bytes:
        """Return the id of the chunk in a place."""
        return bytes(self._ids[ordinal * CHUNK_ID_LENGTH : (ordinal + 1) * CHUNK_ID_LENGTH])

    def length_at(self, ordinal: int) -> int:
        """Return the decoded length of the chunk in a place."""
        return self._lengths[ordinal]

    def kind_at(self, ordinal: int) -> int:
        """Return the kind of the chunk in a place."""
        return self._kinds[ordinal]

    def places(self, standing: int) -> Iterator[int]:
        """Yield all places of the chunk that `standing` stands for, that one first."""
        ordinal = standing
        while True:
            yield ordinal
            following = self._next[ordinal]
            if not following:
                return
            ordinal = following - 1

    def pack_at(self, ordinal: int) -> int:
        """Return the number of the pack that holds a place."""
        return self._pack_of_block(self.block_at(ordinal))

    def blocks_of(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Yield (first ordinal, end, length of the part) of each block of a pack."""
        begin = self._first_blocks[number]
        end = self._first_blocks[number + 1] if number + 1 < len(self._first_blocks) else len(self._starts)
        for block in range(begin, end):
            yield self._starts[block], self._end_of_block(block), self._parts[block]

    def block_at(self, ordinal: int) -> int:
        """Return the number of the block that holds a place, counted over all packs."""
        return bisect_right(self._starts, ordinal) - 1

    def place_of_block(self, block: int) -> tuple[int, BlockPlace]:
        """Return the first ordinal of a block, and where it lies."""
        number = self._pack_of_block(block)
        return self._starts[block], self.place_of(number, block - self._first_blocks[number])

    def place_of(self, number: int, position: int) -> BlockPlace:
        """Return where block `position` of pack `number` lies, and what it must begin with."""
        pack = self.packs[number]
        block = self._first_blocks[number] + position
        first, end = self._starts[block], self._end_of_block(block)
        lengths = self._lengths[first:end]
        table = b"".join(
            (
                struct.pack(f">I{end - first}s{end - first}I", end - first, bytes(self._kinds[first:end]), *lengths),
                self._ids[first * CHUNK_ID_LENGTH : end * CHUNK_ID_LENGTH],
            )
        )
        record = BlockRecord(self._offsets[block], self._parts[block], sum(lengths), table)
        return BlockPlace(pack.pack_id, pack.header, position, record)

    def let_go(self) -> None:
        """Forget all places, when nothing more will be asked but which packs there are."""
        empty = CompactIndex()
        self._ids, self._kinds, self._lengths = empty._ids, empty._kinds, empty._lengths
        self._standing, self._next, self._slots = empty._standing, empty._next, empty._slots
        self._starts, self._offsets, self._parts = empty._starts, empty._offsets, empty._parts
        self._chunks = 0

    def _add_block(self, block: BlockRecord) -> None:
        ids = table_ids(block.table)
        kinds, offsets = table_layout(block.table)
        self._starts.append(len(self))
        self._offsets.append(block.offset)
        self._parts.append(block.length)
        self._kinds += kinds
        self._lengths.extend(end - start for start, end in itertools.pairwise(offsets))
        self._ids += b"".join(ids)
        for chunk_id in ids:
            self._enter(chunk_id)

    def _enter(self, chunk_id: bytes) -> None:
        ordinal = len(self._standing)
        self._next.append(0)
        at = self._slot(chunk_id)
        found = self._slots[at]
        if found:
            self._standing.append(found - 1)
            self._next[ordinal], self._next[found - 1] = self._next[found - 1], ordinal + 1
            return
        self._standing.append(ordinal)
        self._slots[at] = ordinal + 1
        self._chunks += 1
        if self._chunks * 3 > len(self._slots) * 2:
            self._grow()

    def _slot(self, chunk_id: bytes) -> int:
        """Return the slot that holds a chunk, or the free one that it would get.

        Python's hash of bytes is keyed anew in each process: nobody can make ids that all want one slot.
        """
        slots, ids = self._slots, self._ids
        mask = len(slots) - 1
        at = hash(chunk_id) & mask
        while found := slots[at]:
            if ids[(found - 1) * CHUNK_ID_LENGTH : found * CHUNK_ID_LENGTH] == chunk_id:
                break
            at = (at + 1) & mask
        return at

    def _grow(self) -> None:
        self._slots = array("I", bytes(8 * len(self._slots)))
        mask = len(self._slots) - 1
        for ordinal, standing in enumerate(self._standing):
            if ordinal == standing:
                at = hash(self.id_at(ordinal)) & mask
                while self._slots[at]:
                    at = (at + 1) & mask
                self._slots[at] = ordinal + 1

    def _pack_of_block(self, block: int) -> int:
        return bisect_right(self._first_blocks, block) - 1

    def _end_of_block(self, block: int) -> int:
        return self._starts[block + 1] if block + 1 < len(self._starts) else len(self)
