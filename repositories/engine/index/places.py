"""Packs, blocks and chunks in flat columns: all that index segments say, in 45 to 64 bytes a chunk.

Owns the columns, and giving back exactly the records that were added. A place is an ordinal: the position among all
chunks of all packs in the order in which they were added, so that the places of a block, and of a pack, follow each
other. Must not know which packs count.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.ids import CHUNK_ID_LENGTH
from repositories.engine.index.id_table import IdTable
from repositories.engine.packs.directory import HASH_UNKNOWN, BlockRecord, PackRecord
from repositories.engine.packs.reader import BlockPlace
from repositories.engine.packs.table import LENGTH, TABLE_PER_CHUNK, join_table, split_table

PACK_ID_LENGTH: Final = 16
_PACK: Final = struct.Struct("<32s72sIII")  # content hash, header, length, class, first block
_LENGTH_ALONE: Final = struct.Struct("<104xI8x")
_CLASSES: Final = 2**32
_AT_ONCE: Final = 4096


@dataclass(slots=True)
class PlaceTable:
    """All that packs hold. One thread adds, others may ask meanwhile; one that is shared is not added to any more."""

    packs: IdTable = field(default_factory=lambda: IdTable(PACK_ID_LENGTH))
    chunks: IdTable = field(default_factory=lambda: IdTable(CHUNK_ID_LENGTH))
    rows: bytearray = field(default_factory=bytearray)  # by pack
    starts: "array[int]" = field(default_factory=lambda: array("I"))  # by block: the first ordinal
    offsets: "array[int]" = field(default_factory=lambda: array("I"))  # by block
    parts: "array[int]" = field(default_factory=lambda: array("I"))  # by block: length in the pack
    kinds: bytearray = field(default_factory=bytearray)  # by ordinal
    lengths: bytearray = field(default_factory=bytearray)  # by ordinal: as in chunk tables
    decoded: dict[int, int] = field(default_factory=dict)  # by block: length, where it is not the sum of its chunks'

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.kinds)

    def add(self, pack: PackRecord) -> bool:
        """Add a pack; return False for one that is known. A hash that was not known is taken over."""
        known = self.packs.find(pack.pack_id)
        if known is not None:
            at = known * _PACK.size
            if pack.content_hash != HASH_UNKNOWN and self.rows[at : at + len(HASH_UNKNOWN)] == HASH_UNKNOWN:
                self.rows[at : at + len(HASH_UNKNOWN)] = pack.content_hash
            return False
        pack_class = pack.pack_class if 0 <= pack.pack_class < _CLASSES else 0
        self.rows += _PACK.pack(pack.content_hash, pack.header, pack.length, pack_class, len(self.starts))
        ids = [self._add_block(block) for block in pack.blocks]
        self.packs.extend(pack.pack_id)
        self.chunks.extend(b"".join(ids))
        return True

    def record(self, number: int) -> PackRecord:
        """Return the pack with this number as it was added."""
        content_hash, header, length, pack_class, _ = self._row(number)
        blocks = tuple(self._block(block) for block in range(*self._blocks_of(number)))
        return PackRecord(self.packs.at(number), length, content_hash, pack_class, header, blocks)

    def pack_lengths(self) -> Iterator[tuple[bytes, int]]:
        """Yield (id, length) of all packs."""
        # Portions are copies: what is added meanwhile could not get room in what is being looked through.
        ids = struct.Struct(f"{PACK_ID_LENGTH}s")
        for first in range(0, len(self.packs), _AT_ONCE):
            end = first + _AT_ONCE
            found = ids.iter_unpack(self.packs.ids[first * ids.size : end * ids.size])
            lengths = _LENGTH_ALONE.iter_unpack(self.rows[first * _PACK.size : end * _PACK.size])
            for (pack_id,), (length,) in zip(found, lengths, strict=False):
                yield pack_id, length

    def pack_length(self, number: int) -> tuple[bytes, int]:
        """Return (id, length) of one pack."""
        return self.packs.at(number), self._row(number)[2]

    def span(self, number: int) -> tuple[int, int]:
        """Return the first place of a pack, and the end of its places."""
        first, end = self._blocks_of(number)
        return self._start(first), self._start(end)

    def place(self, ordinal: int) -> tuple[int, BlockPlace]:
        """Return the first ordinal of the block that holds a place, and where that block lies."""
        block = self.block_of(ordinal)
        number = self._pack_of(block)
        _, header, _, _, first = self._row(number)
        return self.starts[block], BlockPlace(self.packs.at(number), header, block - first, self._block(block))

    def block_of(self, ordinal: int) -> int:
        """Return the number of the block that holds a place."""
        return bisect_right(self.starts, ordinal) - 1

    def pack_of(self, ordinal: int) -> int:
        """Return the number of the pack that holds a place."""
        return self._pack_of(self.block_of(ordinal))

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield (number, first place, end) of every pack."""
        for number in range(len(self.packs)):
            yield number, *self.span(number)

    def reserve(self, packs: Iterable[PackRecord]) -> None:
        """Make room for these packs at once."""
        lengths = [sum(len(block.table) for block in pack.blocks) for pack in packs]
        self.packs.reserve(len(lengths))
        self.chunks.reserve(sum(lengths) // TABLE_PER_CHUNK)

    def copy(self) -> "PlaceTable":
        """Return a table of the same places that can be added to by itself."""
        return PlaceTable(
            self.packs.copy(),
            self.chunks.copy(),
            bytearray(self.rows),
            self.starts[:],
            self.offsets[:],
            self.parts[:],
            bytearray(self.kinds),
            bytearray(self.lengths),
            dict(self.decoded),
        )

    def _add_block(self, block: BlockRecord) -> bytes:
        kinds, lengths, ids = split_table(block.table)
        if block.decoded_length != _sum_of(lengths):
            self.decoded[len(self.starts)] = block.decoded_length
        self.offsets.append(block.offset)
        self.parts.append(block.length)
        # Before its chunks: whoever asks for the block before this one meanwhile must see where that ends.
        self.starts.append(len(self.kinds))
        self.kinds += kinds
        self.lengths += lengths
        return ids

    def _block(self, block: int) -> BlockRecord:
        first, end = self.starts[block], self._start(block + 1)
        lengths = bytes(self.lengths[first * LENGTH : end * LENGTH])
        ids = self.chunks.ids[first * CHUNK_ID_LENGTH : end * CHUNK_ID_LENGTH]
        decoded = self.decoded.get(block)
        return BlockRecord(
            self.offsets[block],
            self.parts[block],
            _sum_of(lengths) if decoded is None else decoded,
            join_table(self.kinds[first:end], lengths, ids),
        )

    def _row(self, number: int) -> tuple[bytes, bytes, int, int, int]:
        return _PACK.unpack_from(self.rows, number * _PACK.size)

    def _blocks_of(self, number: int) -> tuple[int, int]:
        end = self._row(number + 1)[4] if (number + 1) * _PACK.size < len(self.rows) else len(self.starts)
        return self._row(number)[4], end

    def _start(self, block: int) -> int:
        return self.starts[block] if block < len(self.starts) else len(self.kinds)

    def _pack_of(self, block: int) -> int:
        """Return the number of the pack that holds a block."""
        low, high = 0, len(self.packs)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._row(middle)[4] <= block else (low, middle)
        return low


def _sum_of(lengths: bytes) -> int:
    return sum(struct.unpack(f">{len(lengths) // LENGTH}I", lengths))
