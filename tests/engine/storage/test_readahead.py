"""Reading ahead: neighbours become one request, the bound on bytes holds, and what fails is read anew."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from repositories.engine.errors import ObjectMissingError, OperationCancelledError, StorageUnreachableError
from repositories.engine.storage.base import ObjectRange
from repositories.engine.storage.memory import MemoryStorage
from repositories.engine.storage.readahead import ReadAheadStorage, coalesced


class Counting(MemoryStorage):
    """Notes the reads; those ahead can be told to fail, or to wait at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, int, int | None]] = []
        self.ahead: list[tuple[str, int, int | None]] = []
        self.failing = False
        self.noting = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()

    @property
    def reads_at_once(self) -> int:
        return 3

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        with self.noting:
            self.reads.append((name, offset, length))
            ahead = threading.current_thread().name.startswith("syncova-ahead")
            if ahead:
                self.ahead.append((name, offset, length))
        if ahead:
            assert self.gate.wait(60)
        if self.failing and ahead:
            raise StorageUnreachableError("far away", hint="wait")
        return super().get(name, offset, length)


CONTENT = bytes(range(256)) * 40


@pytest.fixture
def inner() -> Counting:
    made = Counting()
    made.put("packs/aa/one", CONTENT)
    made.put("packs/bb/two", CONTENT[::-1])
    return made


def settle(storage: ReadAheadStorage) -> None:
    """Wait for all that was begun ahead."""
    wait([each.data for each in storage._fetches if each.data is not None], timeout=60)


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


def test_what_is_needed_last_waits_for_room_and_comes_ahead_all_the_same(inner: Counting) -> None:
    """4.7: what is fetched already is needed first; to give it up meant to fetch it twice."""
    storage = ReadAheadStorage(inner, budget=1000)
    one, two = ("packs/aa/one", 0, 600), ("packs/bb/two", 0, 600)
    storage.will_read([ObjectRange(*one)])
    storage.will_read([ObjectRange(*two)])
    settle(storage)
    assert inner.reads == [one], "there is no room for both"
    assert storage.get(*one) == CONTENT[:600]
    settle(storage)
    assert inner.reads == [one, two], "now there is"
    assert storage.get(*two) == CONTENT[::-1][:600]
    assert inner.reads == [one, two]


def test_what_waits_and_is_asked_for_before_its_turn_is_read_directly(inner: Counting) -> None:
    storage = ReadAheadStorage(inner, budget=1000)
    one, two, three = (("packs/aa/one", offset, 600) for offset in (0, 3000, 6000))
    for each in (one, two, three):
        storage.will_read([ObjectRange(*each)])
    assert storage.get(*two) == CONTENT[3000:3600]
    assert storage.get(*one) == CONTENT[:600]
    assert storage.get(*three) == CONTENT[6000:6600]
    settle(storage)
    assert sorted(inner.reads) == [one, two, three], "each was read once"


def test_what_is_never_read_after_all_gives_its_room_up(inner: Counting) -> None:
    """4.7: a file that is not restored after all must not end the reading ahead for all that come later."""
    storage = ReadAheadStorage(inner, budget=1000)
    storage.will_read(ranges("packs/bb/two", 0, length=900))
    later = [("packs/aa/one", offset, 500) for offset in range(0, 10_000, 500)]
    for each in later:
        storage.will_read([ObjectRange(*each)])
        assert storage.get(*each) == CONTENT[each[1] : each[1] + 500]
    settle(storage)
    assert sorted(each for each in inner.reads if each[0] == "packs/aa/one") == later, "each was read once"
    directly = len(later) - len([each for each in inner.ahead if each[0] == "packs/aa/one"])
    assert 0 < directly < 10, "only until four budgets of bytes were announced"


def test_failures_ahead_are_told_by_the_read_itself(inner: Counting) -> None:
    storage = ReadAheadStorage(inner)
    inner.failing = True
    storage.will_read(ranges("packs/aa/one", 0) + ranges("packs/cc/gone", 0))
    assert storage.get("packs/aa/one", 0, 100) == CONTENT[:100]
    with pytest.raises(ObjectMissingError):
        storage.get("packs/cc/gone", 0, 100)


def test_what_is_given_up_nobody_waits_for(inner: Counting) -> None:
    """4.7: a restore that failed ended only when all that it had announced was there."""
    storage = ReadAheadStorage(inner, budget=1500)
    offsets = range(0, 3000, 500)
    inner.gate.clear()
    for offset in offsets:
        storage.will_read(ranges("packs/aa/one", offset, length=400))
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(storage.get, "packs/aa/one", offset, 400) for offset in (0, 1000)]
        assert not wait(waiting, timeout=0.1).done
        storage.give_up_reading()
        assert all(isinstance(each.exception(60), OperationCancelledError) for each in waiting)
    inner.gate.set()
    settle(storage)
    assert len(inner.reads) <= inner.reads_at_once, "what was under way, and nothing that waited for its turn"
    storage.will_read(ranges("packs/aa/one", 0, length=400))
    assert storage.get("packs/aa/one", 0, 400) == CONTENT[:400], "whoever reads later reads as ever"


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
