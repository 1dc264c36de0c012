"""The chunk table: which chunks lie in a block, in order.

Owns its bytes, which are the same at the start of a block, in a pack's directory and in the index: count (4), kinds
(1 each), lengths (4 each), ids (32 each), column by column so that C code can take it apart.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import CHUNK_ID_LENGTH, ChunkKind
from repositories.engine.limits import MAX_CHUNKS_PER_PACK

_COUNT = struct.Struct(">I")
LENGTH = 4
"""Bytes of a chunk's length in a table."""
TABLE_PER_CHUNK = 1 + LENGTH + CHUNK_ID_LENGTH
_KINDS = bytes(ChunkKind)
TABLE_MIN = _COUNT.size + TABLE_PER_CHUNK  # no block is without a chunk


class ChunkTable(msgspec.Struct, frozen=True):
    """A parsed table; `lengths` are decoded lengths, chunks follow each other without gaps."""

    kinds: bytes
    lengths: tuple[int, ...]
    ids: tuple[bytes, ...]

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.ids)


def encode_table(kinds: bytes, lengths: Sequence[int], ids: Sequence[bytes]) -> bytes:
    """Return the table bytes."""
    count = len(ids)
    return b"".join((_COUNT.pack(count), kinds, struct.pack(f">{count}I", *lengths), *ids))


def table_count(data: bytes) -> int:
    """Return the number of chunks in a table. Raises IntegrityError if the length does not fit it."""
    if len(data) < _COUNT.size:
        raise IntegrityError("a chunk table is shorter than its count", hint="run check")
    count: int = _COUNT.unpack_from(data)[0]
    if count > MAX_CHUNKS_PER_PACK or len(data) != _COUNT.size + count * TABLE_PER_CHUNK:
        raise IntegrityError("a chunk table does not have the length of its count", hint="run check")
    return count


def table_ids(data: bytes) -> tuple[bytes, ...]:
    """Return only the ids of a table: what building an index needs."""
    count = table_count(data)
    return struct.unpack_from(f"{CHUNK_ID_LENGTH}s" * count, data, _COUNT.size + 5 * count)


def split_table(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the columns of a table as they are in it: kinds, lengths, ids. Raises IntegrityError."""
    count = table_count(data)
    kinds, lengths = _COUNT.size + count, _COUNT.size + (1 + LENGTH) * count
    return data[_COUNT.size : kinds], data[kinds:lengths], data[lengths:]


def join_table(kinds: bytes | bytearray, lengths: bytes | bytearray, ids: bytes | bytearray) -> bytes:
    """Return the table that `split_table` takes apart."""
    return b"".join((_COUNT.pack(len(kinds)), kinds, lengths, ids))


def table_layout(data: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Return the kinds of a table's chunks, and their offsets with the end of the last one."""
    count = table_count(data)
    lengths = struct.unpack_from(f">{count}I", data, _COUNT.size + count)
    return data[_COUNT.size : _COUNT.size + count], (0, *accumulate(lengths))


def parse_table(data: bytes) -> ChunkTable:
    """Return the whole table. Raises IntegrityError."""
    count = table_count(data)
    kinds = data[_COUNT.size : _COUNT.size + count]
    if kinds.translate(None, _KINDS):
        raise IntegrityError("a chunk table has a kind of chunk that is not known", hint="run check")
    lengths = struct.unpack_from(f">{count}I", data, _COUNT.size + count)
    return ChunkTable(kinds, lengths, table_ids(data))
