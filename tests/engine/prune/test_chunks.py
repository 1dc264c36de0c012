"""Pages are read by few looks at the medium, however many of them a block holds (3.15)."""

import pytest

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.packs.blocks import BlockStyle, DecodedBlock, PendingChunk
from repositories.engine.packs.directory import PackClass, PackRecord
from repositories.engine.packs.pipeline import BlockPipeline, PipelineSettings
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.prune import chunks as reading
from repositories.engine.prune.chunks import ChunksByOrdinal
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.repository import Repository
from tests.engine.repositories import make_repository

TINY = 8_000


class CountingReader(PackReader):
    """Counts the blocks that are decoded."""

    decoded = 0

    def read_block(self, place: BlockPlace) -> DecodedBlock:
        self.decoded += 1
        return super().read_block(place)


class CountingIndex(CompactIndex):
    """Counts how often a block's table is put together, which costs as much as the block has chunks."""

    tables = 0

    def place_of(self, number: int, position: int) -> BlockPlace:
        self.tables += 1
        return super().place_of(number, position)


def tiny(repository: Repository, first: int, count: int) -> list[PendingChunk]:
    contents = [b"page %d" % number for number in range(first, first + count)]
    identify = repository.keyring.chunk_id
    return [PendingChunk(ChunkKind.PAGE, identify(ChunkKind.PAGE, each), each) for each in contents]


def stored(
    repository: Repository, *blocks: list[PendingChunk]
) -> tuple[ChunksByOrdinal, CountingReader, CountingIndex]:
    """Put these blocks in packs; return what reads them."""
    made: list[PackRecord] = []
    pipeline = BlockPipeline(repository.store, PipelineSettings(BlockStyle(3, padding=False)), made.append)
    for block in blocks:
        pipeline.submit(PackClass.METADATA, block, sum(len(chunk.data) for chunk in block))
    pipeline.drain()
    pipeline.close()
    index, packs = CountingIndex(), CountingReader(repository.store)
    for pack in made:
        index.add(pack)
    return ChunksByOrdinal(index, packs, repository.keyring), packs, index


def test_a_block_of_thousands_of_chunks_is_decoded_once() -> None:
    repository = make_repository()
    block = tiny(repository, 0, TINY)
    source, packs, index = stored(repository, block)
    for chunk in block:
        assert source.read(ChunkKind.PAGE, chunk.chunk_id) == chunk.data
    assert (packs.decoded, index.tables) == (1, 1)


def test_blocks_that_are_read_in_turns_are_decoded_once_each() -> None:
    repository = make_repository()
    blocks = [tiny(repository, 1000 * number, 100) for number in range(8)]
    source, packs, index = stored(repository, *blocks)
    for together in zip(*blocks, strict=True):
        for chunk in together:
            assert source.read(ChunkKind.PAGE, chunk.chunk_id) == chunk.data
    assert (packs.decoded, index.tables) == (8, 8)


def test_what_is_kept_is_bounded_and_what_was_used_last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository()
    blocks = [tiny(repository, 1000 * number, 100) for number in range(3)]
    source, packs, _ = stored(repository, *blocks)
    size = sum(len(chunk.data) for chunk in blocks[2]) + 5 * 100
    monkeypatch.setattr(reading, "KEPT_BYTES", 2 * size)
    for number in (0, 1, 0, 2, 0, 1):
        source.read(ChunkKind.PAGE, blocks[number][0].chunk_id)
    # 0 was used after 1 when 2 came, so that 1 went and came again.
    assert packs.decoded == 4
    monkeypatch.setattr(reading, "KEPT_BYTES", 1)
    for _ in range(3):
        source.read(ChunkKind.PAGE, blocks[2][0].chunk_id)
    assert packs.decoded == 5, "the last block stays however large it is"


def test_a_chunk_of_another_kind_or_of_no_pack_is_refused() -> None:
    repository = make_repository()
    (chunk,) = tiny(repository, 0, 1)
    source, _, _ = stored(repository, [chunk])
    with pytest.raises(IntegrityError, match="content of its id"):
        source.read(ChunkKind.STREAM, chunk.chunk_id)
    with pytest.raises(ObjectMissingError):
        source.read(ChunkKind.PAGE, bytes(32))
