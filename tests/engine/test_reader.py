"""Reading blocks in several threads: one decodes, the others wait, a failure is one thread's own (E7, 4.2)."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pytest

from repositories.engine.errors import IntegrityError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex, Location
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.directory import BlockRecord
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.table import parse_table
from repositories.engine.reader import ChunkReader
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import pinned_repository
from tests.engine.packs.test_packs import one_pack

AT_ONCE = 4


@dataclass
class Gate:
    """What a decoding passes; the first ones raise as `failures` says."""

    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    failures: int = 0
    decoded: list[tuple[bytes, int]] = field(default_factory=list)

    def passed(self, place: BlockPlace) -> None:
        self.decoded.append((place.pack_id, place.number))
        number = len(self.decoded)
        self.entered.set()
        assert self.opened.wait(60)
        if number <= self.failures:
            raise IntegrityError("as the test wants it")


class GatedPacks(PackReader):
    """Decodes what it makes up: blocks of 100 bytes."""

    def __init__(self, repository: Repository, gate: Gate) -> None:
        super().__init__(repository.store)
        self._gate = gate

    def read_block(self, place: BlockPlace) -> DecodedBlock:
        self._gate.passed(place)
        return DecodedBlock(parse_table(TABLE), TABLE, bytes([place.number]) * 100)


TABLE = b"\0\0\0\1\1" + (100).to_bytes(4, "big") + bytes(32)


def place(number: int) -> Location:
    return Location(b"p" * 16, number, 0, 100, BlockPlace(b"p" * 16, b"", number, BlockRecord(0, 1, 100, TABLE)))


def reader(gate: Gate, cache_bytes: int = 1000) -> ChunkReader:
    repository = pinned_repository(MemoryStorage()).repository
    return ChunkReader(ChunkIndex(frozenset(), {}), GatedPacks(repository, gate), repository.keyring, cache_bytes)


def all_at_once(gate: Gate, work: Callable[[], DecodedBlock], pool: ThreadPoolExecutor) -> list[Future[DecodedBlock]]:
    """Let one thread begin to decode, then the others ask; open the gate when they have had time to go past it."""
    first = pool.submit(work)
    assert gate.entered.wait(60)
    running = [first, *(pool.submit(work) for _ in range(AT_ONCE - 1))]
    assert not wait(running, timeout=0.1, return_when="FIRST_COMPLETED").done
    gate.opened.set()
    wait(running, timeout=60)
    return running


def test_threads_that_want_the_same_block_decode_it_once() -> None:
    gate = Gate()
    reading = reader(gate)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        blocks = [each.result(60) for each in all_at_once(gate, lambda: reading.read_block(place(3)), pool)]
    assert gate.decoded == [(b"p" * 16, 3)]
    assert {id(each) for each in blocks} == {id(blocks[0])}


def test_a_block_larger_than_the_cache_reaches_all_who_wait() -> None:
    gate = Gate()
    reading = reader(gate, cache_bytes=10)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        blocks = [each.result(60) for each in all_at_once(gate, lambda: reading.read_block(place(3)), pool)]
    assert {each.content for each in blocks} == {bytes([3]) * 100}


@pytest.mark.parametrize("failures", range(AT_ONCE + 1))
def test_each_failure_is_one_threads_own(failures: int) -> None:
    """Who waited tries for himself: the failure may come of the other's place of the block, or of his being stopped."""
    gate = Gate(failures=failures)
    reading = reader(gate)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = all_at_once(gate, lambda: reading.read_block(place(0)), pool)
        failed = [each for each in running if isinstance(each.exception(60), IntegrityError)]
    assert len(failed) == min(failures, AT_ONCE)
    assert len(gate.decoded) == min(failures + 1, AT_ONCE)


def test_different_blocks_are_decoded_side_by_side() -> None:
    both = threading.Barrier(2)

    class Meeting(Gate):
        def passed(self, place: BlockPlace) -> None:
            both.wait(60)

    reading = reader(Meeting())
    with ThreadPoolExecutor(2) as pool:
        contents = list(pool.map(lambda number: reading.read_block(place(number)).content[0], (1, 2)))
    assert contents == [1, 2]


def test_the_cache_is_bounded_by_bytes_and_keeps_what_was_used_last() -> None:
    gate = Gate()
    gate.opened.set()
    reading = reader(gate, cache_bytes=200)
    for number in (1, 2, 1, 3, 1, 2):
        reading.read_block(place(number))
    assert [number for _, number in gate.decoded] == [1, 2, 3, 2]


def test_the_cache_lets_go_first_of_what_was_read_to_the_end() -> None:
    """4.7: a block at the border of two windows was fetched twice from far away, and all waited for it."""
    gate = Gate()
    gate.opened.set()
    reading = reader(gate, cache_bytes=200)
    for number in (1, 2, 3, 1):
        block = reading.read_block(place(number))
        if number != 1:
            chunk = reading._keyring.chunk_id(ChunkKind.DATA, block.content)
            assert reading.extract(block, ChunkKind.DATA, chunk, place(number)) == block.content
    assert [number for _, number in gate.decoded] == [1, 2, 3]


def test_a_chunk_is_read_from_its_next_place_when_the_first_is_damaged() -> None:
    repository = pinned_repository(MemoryStorage()).repository
    first, chunks = one_pack(repository)
    second, _ = one_pack(repository)
    index = ChunkIndex(frozenset(), {})
    index.add([first, second])
    repository.storage.delete(object_name(ObjectKind.PACK, first.pack_id))
    failed: list[bytes] = []
    reading = ChunkReader(index, PackReader(repository.store), repository.keyring, failed=failed.append)
    assert reading.read(chunks[0].kind, chunks[0].chunk_id) == chunks[0].data
    assert failed == [first.pack_id]
