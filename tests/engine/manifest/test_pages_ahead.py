"""Pages are announced before they are read, far away alone, and only so many (4.7)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.pages_ahead import BLOCKS_AHEAD, PAGES_AHEAD, pages_ahead
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import big_tree, write


@dataclass(frozen=True)
class At:
    """Where a page lies."""

    page: bytes
    pack: bytes
    block: int


@dataclass
class Far:
    """Knows where pages lie: `together` in a block, in the order in which they are named. Notes what is announced."""

    together: int
    far: bool = True
    order: dict[bytes, int] = field(default_factory=dict)
    unknown: frozenset[bytes] = frozenset()
    announced: list[list[At]] = field(default_factory=list)

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> At | None:
        assert kind is ChunkKind.PAGE
        if chunk_id in self.unknown:
            return None
        number = self.order.setdefault(chunk_id, len(self.order))
        return At(chunk_id, b"pack", number // self.together)

    def expect(self, locations: Iterable[At]) -> None:
        self.announced.append(list(locations))


def ids(count: int) -> list[bytes]:
    return [number.to_bytes(32, "big") for number in range(count)]


def test_near_by_nothing_is_announced() -> None:
    assert pages_ahead(Far(1, far=False)) is None


@pytest.mark.parametrize(("together", "blocks"), [(1, BLOCKS_AHEAD), (10, BLOCKS_AHEAD), (100, 1)])
def test_each_block_is_announced_once_and_not_too_many(together: int, blocks: int) -> None:
    far = Far(together)
    announce = pages_ahead(far)
    assert announce is not None
    announce(ids(60))
    assert [place.block for place in far.announced[0]] == list(range(blocks))


def test_pages_of_unknown_place_end_an_announcement() -> None:
    """The walk itself meets them, and tells."""
    far = Far(1, unknown=frozenset(ids(3)[2:]))
    announce = pages_ahead(far)
    assert announce is not None
    announce(ids(10))
    assert [place.page for place in far.announced[0]] == ids(2)


def test_a_walk_tells_of_each_page_before_it_reads_it_and_of_the_next_ones_in_order() -> None:
    chunks = MemoryChunks()
    top = write(chunks, big_tree(60, 500))
    chunks.reads.clear()
    told: list[list[bytes]] = []
    read_before: list[int] = []

    def ahead(pages: Iterable[bytes]) -> None:
        told.append(list(pages))
        read_before.append(len(chunks.reads))

    for _ in read_listings(chunks, top, ahead=ahead):
        pass
    assert read_before == list(range(len(chunks.reads))), "told once before each page is read"
    assert [pages[0] for pages in told] == chunks.reads
    assert max(map(len, told)) <= PAGES_AHEAD + 1
    leaves = told[-3]
    assert leaves[:3] == chunks.reads[-3:], "the next pages follow in the order in which they are read"
