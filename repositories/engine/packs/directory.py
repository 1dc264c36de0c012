"""Records that describe packs: the sealed directory at a pack's end, and a pack as the index lists it.

Owns the fields, and the distinction of data from metadata packs.
"""

import enum

from repositories.engine.format.records import Record
from repositories.engine.ids import ChunkKind

DIRECTORY_NUMBER = 0xFFFF_FFFF  # a fixed part number: a reader who knows only the footer does not know the count


class PackClass(enum.IntEnum):
    """What a pack holds: file content, or manifest pages and streams; never both."""

    DATA = 1
    METADATA = 2


CLASS_OF_KIND = {
    ChunkKind.DATA: PackClass.DATA,
    ChunkKind.PAGE: PackClass.METADATA,
    ChunkKind.STREAM: PackClass.METADATA,
}


class BlockRecord(Record, frozen=True):
    """One block: where its part lies in the pack (offset and length with part header), decoded length, chunk table."""

    offset: int
    length: int
    decoded_length: int
    table: bytes


class DirectoryRecord(Record, frozen=True):
    """The sealed directory of a pack: binds the numbers of block parts and sections, and where the blocks end."""

    pack_class: int
    parts: int
    blocks_end: int
    blocks: tuple[BlockRecord, ...]
    sections: int


class PackRecord(Record, frozen=True):
    """A pack as an index segment lists it. `header` is its clear header, so that one ranged read opens a block."""

    pack_id: bytes
    length: int
    content_hash: bytes
    pack_class: int
    header: bytes
    blocks: tuple[BlockRecord, ...]
