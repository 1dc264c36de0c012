"""Blocks: chunks gathered, compressed, sealed, and proven readable before they are kept.

Owns building one block and opening one. Pure computation, run by pool threads.
"""

from collections.abc import Sequence

import msgspec

from repositories.engine.codec.frames import decode_frame, encode_frame
from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import IntegrityError
from repositories.engine.format.kinds import PartKind
from repositories.engine.ids import ChunkKind
from repositories.engine.keys.keyring import Keyring
from repositories.engine.limits import MAX_BLOCK_DECODED
from repositories.engine.packs.table import ChunkTable, encode_table, parse_table


class PendingChunk(msgspec.Struct, frozen=True):
    """A chunk on its way into a block. `data` is this object's own: nobody changes it."""

    kind: ChunkKind
    chunk_id: bytes
    data: bytes


class SealedBlock(msgspec.Struct, frozen=True):
    """A block's part (header included), ready to be written."""

    part: bytearray
    decoded_length: int
    table: bytes


class DecodedBlock(msgspec.Struct, frozen=True):
    """An opened block: table and content."""

    table: ChunkTable
    table_bytes: bytes
    content: bytes


class BlockStyle(msgspec.Struct, frozen=True):
    """How blocks are encoded: zstd level (0: off), padding."""

    level: int
    padding: bool


def build_block(seal: ObjectSeal, number: int, chunks: Sequence[PendingChunk], style: BlockStyle) -> SealedBlock:
    """Compress and seal part `number` of a pack."""
    table = encode_table(
        bytes(chunk.kind for chunk in chunks), [len(chunk.data) for chunk in chunks], [c.chunk_id for c in chunks]
    )
    content = chunks[0].data if len(chunks) == 1 else b"".join([chunk.data for chunk in chunks])
    if len(content) > MAX_BLOCK_DECODED:
        raise ValueError(f"a block of {len(content)} bytes is over the limit")
    frame = encode_frame(content, style.level, table=table, padding=style.padding)
    return SealedBlock(seal.seal(number, PartKind.BLOCK, frame), len(content), table)


def open_block(seal: ObjectSeal, number: int, part: bytes | bytearray | memoryview) -> DecodedBlock:
    """Return an authenticated, decoded block. Raises IntegrityError."""
    frame = decode_frame(seal.open(number, PartKind.BLOCK, part), MAX_BLOCK_DECODED)
    table = parse_table(frame.table)
    if sum(table.lengths) != len(frame.payload):
        raise IntegrityError("a block's chunks do not fill it", hint="run check")
    return DecodedBlock(table, frame.table, frame.payload)


def prove_block(seal: ObjectSeal, number: int, block: SealedBlock, keyring: Keyring) -> None:
    """Open, decode and re-hash a block just built: finds faults of memory and libraries before they are stored.

    Raises IntegrityError.
    """
    decoded = open_block(seal, number, block.part)
    if decoded.table_bytes != block.table:
        raise IntegrityError("a block just sealed has another table", hint="check this machine's memory")
    verify_chunks(decoded, keyring)


def verify_chunks(block: DecodedBlock, keyring: Keyring) -> None:
    """Re-hash every chunk of a block. Raises IntegrityError, naming the first wrong one."""
    view = memoryview(block.content)
    offset = 0
    for kind, length, chunk_id in zip(block.table.kinds, block.table.lengths, block.table.ids, strict=True):
        if keyring.chunk_id(ChunkKind(kind), view[offset : offset + length]) != chunk_id:
            raise IntegrityError(f"chunk {chunk_id.hex()} does not have the content of its id", hint="run check")
        offset += length
