"""Records that describe packs: the sealed directory at a pack's end, and a pack as the index lists it.

Owns the fields, and the distinction of data from metadata packs.
"""

import enum
from collections.abc import Sequence
from typing import Annotated

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH
from repositories.engine.format.records import Hash, ObjectId, Record
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_BLOCK_DECODED, MAX_BLOCK_PART, MAX_CHUNKS_PER_PACK, MAX_PACK
from repositories.engine.packs.table import TABLE_MIN, table_count

HASH_UNKNOWN = bytes(32)
"""The content hash of a pack whose record was made from its directory alone: nobody has read all its bytes."""
DIRECTORY_NUMBER = 0xFFFF_FFFF  # a fixed part number: a reader who knows only the footer does not know the count


class PackClass(enum.IntEnum):
    """What a pack holds: file content, or manifest pages and streams; never both."""

    DATA = 1
    METADATA = 2


_Place = Annotated[int, msgspec.Meta(ge=0, le=MAX_PACK)]
_Part = Annotated[int, msgspec.Meta(ge=0, le=MAX_BLOCK_PART)]
_Decoded = Annotated[int, msgspec.Meta(ge=0, le=MAX_BLOCK_DECODED)]
_Table = Annotated[bytes, msgspec.Meta(min_length=TABLE_MIN)]
_Header = Annotated[bytes, msgspec.Meta(min_length=OBJECT_HEADER_LENGTH, max_length=OBJECT_HEADER_LENGTH)]

CLASS_OF_KIND = {
    ChunkKind.DATA: PackClass.DATA,
    ChunkKind.PAGE: PackClass.METADATA,
    ChunkKind.STREAM: PackClass.METADATA,
}


class BlockRecord(Record, frozen=True):
    """One block: where its part lies in the pack (offset and length with part header), decoded length, chunk table."""

    offset: _Place
    length: _Part
    decoded_length: _Decoded
    table: _Table


class DirectoryRecord(Record, frozen=True):
    """The sealed directory of a pack: binds the numbers of block parts and sections, and where the blocks end."""

    pack_class: int
    parts: int
    blocks_end: int
    blocks: tuple[BlockRecord, ...]
    sections: int


class PackRecord(Record, frozen=True):
    """A pack as an index segment lists it. `header` is its clear header, so that one ranged read opens a block."""

    pack_id: ObjectId
    length: _Place
    content_hash: Hash
    pack_class: int
    header: _Header
    blocks: tuple[BlockRecord, ...]


def check_blocks(name: str, blocks: Sequence[BlockRecord], end: int) -> None:
    """Raise IntegrityError unless these can be the blocks of the pack `name`, one after another before `end`."""
    position = chunks = 0
    for block in blocks:
        if block.offset < position:
            raise IntegrityError(f"{name} is said to have blocks that overlap", hint="run check")
        position = block.offset + block.length
        chunks += table_count(block.table)
    if position > end or chunks > MAX_CHUNKS_PER_PACK:
        raise IntegrityError(f"{name} is said to have blocks that do not fit into it", hint="run check")
