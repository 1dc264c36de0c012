"""Taking out of a bad pack what can still be read.

Owns two ways through a pack: by what the index says of its blocks, and, without that, from part to part (docs/
repository-format.md, section 6). Every chunk is authenticated and hashed again before anyone sees it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.codec.sealing import ObjectSeal
from repositories.engine.errors import EngineError, IntegrityError, RepositoryError, UnsupportedFormatError
from repositories.engine.format.headers import (
    OBJECT_HEADER_LENGTH,
    PART_HEADER_LENGTH,
    PART_MAGIC,
    parse_part_header,
)
from repositories.engine.format.kinds import ObjectKind, PartKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_CHUNKS_PER_PACK, MAX_PACK
from repositories.engine.packs.blocks import DecodedBlock, open_block, verify_chunks
from repositories.engine.packs.directory import BlockRecord, PackRecord
from repositories.engine.packs.reader import parse_pack_header
from repositories.engine.packs.table import table_ids
from repositories.engine.repository import Repository
from repositories.engine.storage.medium import is_barred

# How many numbers of blocks are tried where a damaged part header hides how many blocks lie in between.
_NUMBERS_TRIED = 64
_DAMAGED = (IntegrityError, UnsupportedFormatError)
_TRIES = 2


@dataclass(frozen=True, slots=True)
class ReadableBlock:
    """A block that could be read; its chunks have the content of their ids."""

    block: DecodedBlock

    def chunks(self) -> Iterator[tuple[ChunkKind, bytes, bytes]]:
        """Yield (kind, id, content)."""
        offset, table = 0, self.block.table
        for kind, length, chunk_id in zip(table.kinds, table.lengths, table.ids, strict=True):
            yield ChunkKind(kind), chunk_id, bytes(memoryview(self.block.content)[offset : offset + length])
            offset += length


def by_index(repository: Repository, pack: PackRecord) -> Iterator[ReadableBlock | tuple[bytes, ...]]:
    """Yield for each block of a pack the block, or the ids of the chunks in it that cannot be read."""
    try:
        seal = repository.store.seal_of(parse_pack_header(pack.pack_id, pack.header))
    except _DAMAGED:
        yield tuple(chunk for record in pack.blocks for chunk in table_ids(record.table))
        return
    for number, record in enumerate(pack.blocks):
        block = _read_block(repository, seal, (pack.pack_id, number, record))
        # A sector that cannot be read spoils one block alone.
        yield table_ids(record.table) if block is None else ReadableBlock(block)


def _read_block(repository: Repository, seal: ObjectSeal, place: tuple[bytes, int, BlockRecord]) -> DecodedBlock | None:
    """Return a block, or None if it cannot be read; not for a failure that passes is anything given up.

    Raises the storage's error where this user may not read it.
    """
    pack_id, number, record = place
    for _ in range(_TRIES):
        try:
            part = repository.storage.get(object_name(ObjectKind.PACK, pack_id), record.offset, record.length)
            return _proven(repository, seal, number, part)
        except (*_DAMAGED, RepositoryError) as error:
            if is_barred(error):
                raise
    return None


def by_parts(repository: Repository, pack_id: bytes) -> Iterator[ReadableBlock]:
    """Yield the blocks of a pack that can be read without index and directory. Raises errors of the medium."""
    data = _whole(repository, object_name(ObjectKind.PACK, pack_id))
    try:
        seal = repository.store.seal_of(parse_pack_header(pack_id, data[:OBJECT_HEADER_LENGTH]))
    except EngineError:
        return
    number, offset, doubtful = 0, OBJECT_HEADER_LENGTH, False
    while 0 <= offset < len(data) and number < MAX_CHUNKS_PER_PACK:
        end = _end_of_block(data, offset)
        found = None if end is None else _open(repository, seal, (number, doubtful), data[offset:end])
        if end is None or (found is None and doubtful):
            # Nothing tells where the next part begins but its magic; how many lie in between, nobody knows.
            offset, doubtful = data.find(PART_MAGIC, offset + 1), True
            continue
        if found is not None:
            number, block = found
            doubtful = False
            yield ReadableBlock(block)
        number, offset = number + 1, end


def _whole(repository: Repository, name: str) -> bytes:
    """Return all bytes of a pack: an answer that was cut short on its way is asked for again."""
    data = repository.storage.get(name, 0, MAX_PACK + 1)
    if len(data) < repository.storage.size(name):
        data = repository.storage.get(name, 0, MAX_PACK + 1)
    return data


def _end_of_block(data: bytes, offset: int) -> int | None:
    try:
        header = parse_part_header(data, offset)
    except _DAMAGED:
        return None
    end = offset + PART_HEADER_LENGTH + header.length
    return end if header.kind is PartKind.BLOCK and end <= len(data) else None


def _open(
    repository: Repository, seal: ObjectSeal, place: tuple[int, bool], part: bytes
) -> tuple[int, DecodedBlock] | None:
    number, doubtful = place
    for each in range(number, number + (_NUMBERS_TRIED if doubtful else 1)):
        try:
            return each, _proven(repository, seal, each, part)
        except _DAMAGED:
            continue
    return None


def _proven(repository: Repository, seal: ObjectSeal, number: int, part: bytes) -> DecodedBlock:
    block = open_block(seal, number, part)
    verify_chunks(block, repository.keyring)
    return block
