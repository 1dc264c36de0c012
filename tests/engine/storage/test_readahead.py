"""Reading ahead: neighbours become one request, the bound on bytes holds, and what fails is read anew."""

import threading

import pytest

from repositories.engine.errors import ObjectMissingError, StorageUnreachableError
from repositories.engine.storage.base import ObjectRange
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.readahead import ReadAheadStorage, coalesced


class Counting(MemoryStorage):
    """Notes the reads; those ahead can be told to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, int, int | None]] = []
        self.failing = False
        self.noting = threading.Lock()

    @property
    def reads_at_once(self) -> int:
        return 3

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        with self.noting:
            self.reads.append((name, offset, length))
        if self.failing and threading.current_thread().name.startswith("syncova-ahead"):
            raise StorageUnreachableError("far away", hint="wait")
        return super().get(name, offset, length)


CONTENT = bytes(range(256)) * 40


@pytest.fixture
def inner() -> Counting:
    made = Counting()
    made.put("packs/aa/one", CONTENT)
    made.put("packs/bb/two", CONTENT[::-1])
    return made


def ranges(name: str, *offsets: int, length: int = 100) -> list[ObjectRange]:
    return [ObjectRange(name, offset, length) for offset in offsets]


def test_neighbours_are_read_in_one_request_and_each_gets_its_bytes(inner: Counting) -> None:
    """4.7: ranged reads coalesced."""
    storage = ReadAheadStorage(inner)
    storage.will_read(ranges("packs/aa/one", 0, 100, 300, 250) + ranges("packs/bb/two", 50))
    for offset in (300, 0, 250, 100):
        assert storage.get("packs/aa/one", offset, 100) == CONTENT[offset : offset + 100]
    assert storage.get("packs/bb/two", 50, 100) == CONTENT[::-1][50:150]
    assert sorted(inner.reads) == [("packs/aa/one", 0, 400), ("packs/bb/two", 50, 100)]


def test_groups_end_at_gaps_and_at_their_length() -> None:
    near, far, whole = ranges("a", 0, 150), ranges("a", 1000), ranges("b", 0, length=900)
    assert coalesced([*far, *near, *whole], longest=500, gap=60) == [near, far, whole]
    assert coalesced(ranges("a", 0, 100, 200, 300), longest=250, gap=0) == [ranges("a", 0, 100), ranges("a", 200, 300)]
    assert coalesced([]) == []


def test_what_was_not_announced_or_read_before_is_read_directly(inner: Counting) -> None:
    storage = ReadAheadStorage(inner)
    storage.will_read(ranges("packs/aa/one", 0))
    assert storage.get("packs/aa/one", 0, 100) == CONTENT[:100]
    assert storage.get("packs/aa/one", 0, 100) == CONTENT[:100]
    assert storage.get("packs/aa/one", 1, 5) == CONTENT[1:6]
    assert storage.get("packs/aa/one") == CONTENT
    assert len(inner.reads) == 4


def test_no_more_than_the_budget_is_held_and_the_oldest_gives_way(inner: Counting) -> None:
    storage = ReadAheadStorage(inner, budget=1000)
    storage.will_read(ranges("packs/aa/one", 0, length=600))
    storage.will_read(ranges("packs/bb/two", 0, length=600))
    assert storage.get("packs/bb/two", 0, 600) == CONTENT[::-1][:600]
    assert storage.get("packs/aa/one", 0, 600) == CONTENT[:600]
    assert inner.reads.count(("packs/bb/two", 0, 600)) == 1
    assert inner.reads[-1] == ("packs/aa/one", 0, 600), "it had to be read again"


def test_failures_ahead_are_told_by_the_read_itself(inner: Counting) -> None:
    storage = ReadAheadStorage(inner)
    inner.failing = True
    storage.will_read(ranges("packs/aa/one", 0) + ranges("packs/cc/gone", 0))
    assert storage.get("packs/aa/one", 0, 100) == CONTENT[:100]
    with pytest.raises(ObjectMissingError):
        storage.get("packs/cc/gone", 0, 100)


def test_many_threads_read_what_was_announced(inner: Counting) -> None:
    storage = ReadAheadStorage(inner)
    offsets = list(range(0, 10_000, 100))
    storage.will_read(ranges("packs/aa/one", *offsets))
    wrong: list[int] = []

    def read(begin: int) -> None:
        wrong.extend(
            offset
            for offset in offsets[begin::4]
            if storage.get("packs/aa/one", offset, 100) != CONTENT[offset : offset + 100]
        )

    threads = [threading.Thread(target=read, args=(begin,)) for begin in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, len(inner.reads)) == ([], 1)
