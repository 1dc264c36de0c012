"""The breaking storage breaks as it says, at the operation that was asked for, and counts all of them (3.9)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import EngineError, RepositoryError, StorageFullError
from repositories.engine.storage.faults import (
    CHANGES,
    EVERY,
    WRITES,
    Breakage,
    Fault,
    FaultyStorage,
    KilledError,
    Operation,
)
from repositories.engine.storage.memory import MemoryStorage

THERE = "marks/there"


def medium() -> MemoryStorage:
    storage = MemoryStorage()
    storage.put(THERE, b"0123456789")
    return storage


def breaking(fault: Fault, at: int = 1, among: Operation = EVERY) -> tuple[FaultyStorage, MemoryStorage]:
    inner = medium()
    return FaultyStorage(inner, breakage=Breakage(fault, at, among)), inner


def requests(tmp_path: Path) -> dict[Operation, Callable[[FaultyStorage], object]]:
    """Return one request of each kind."""
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    return {
        Operation.PUT: lambda storage: storage.put("marks/new", b"abcdef"),
        Operation.PUT_FILE: lambda storage: storage.put_file("marks/new", str(path)),
        Operation.GET: lambda storage: storage.get(THERE),
        Operation.GET_PART: lambda storage: storage.get(THERE, 2, 4),
        Operation.SIZE: lambda storage: storage.size(THERE),
        Operation.LIST: lambda storage: [*storage.list("marks/")],
        Operation.DELETE: lambda storage: storage.delete(THERE),
    }


@pytest.mark.parametrize("operation", list(Operation))
def test_each_operation_is_counted_and_can_be_the_one_that_breaks(tmp_path: Path, operation: Operation) -> None:
    for other, ask in requests(tmp_path).items():
        storage, _ = breaking(Fault.FAIL, among=operation)
        if other is operation:
            with pytest.raises(RepositoryError, match="does not answer"):
                ask(storage)
            ask(storage)
        else:
            ask(storage)
        assert storage.breakage.counts == {other: 2 if other is operation else 1}
        assert storage.breakage.operations == (2 if other is operation else 0)


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.GONE, Fault.DELAY, Fault.KILL])
@pytest.mark.parametrize("operation", [Operation.PUT, Operation.PUT_FILE, Operation.DELETE])
def test_what_breaks_before_it_is_done_changes_nothing(tmp_path: Path, fault: Fault, operation: Operation) -> None:
    storage, inner = breaking(fault)
    with pytest.raises((EngineError, KilledError)):
        requests(tmp_path)[operation](storage)
    assert inner.objects == {THERE: b"0123456789"}
    storage.breakage.arrive()
    after = {THERE, "marks/new"} if operation in WRITES else set()
    assert set(inner.objects) == (after if fault is Fault.DELAY else {THERE})


@pytest.mark.parametrize("operation", [Operation.PUT, Operation.PUT_FILE, Operation.DELETE])
def test_a_lost_answer_is_that_of_something_done(tmp_path: Path, operation: Operation) -> None:
    storage, inner = breaking(Fault.LOSE_ANSWER)
    with pytest.raises(RepositoryError):
        requests(tmp_path)[operation](storage)
    assert ("marks/new" in inner.objects) == (operation in WRITES)
    assert (THERE in inner.objects) == (operation in WRITES)
    assert storage.get("marks/new") if operation in WRITES else [*storage.list("")] == []


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.TEAR])
def test_the_dead_stay_dead(tmp_path: Path, fault: Fault) -> None:
    """Their other media, too."""
    storage, inner = breaking(fault, among=CHANGES)
    beside = FaultyStorage(medium(), breakage=storage.breakage)
    with pytest.raises(KilledError):
        storage.put("marks/new", b"abcdef")
    assert inner.objects.get("marks/new") == (b"abc" if fault is Fault.TEAR else None)
    storage.breakage.mend()
    for ask in requests(tmp_path).values():
        for each in (storage, beside):
            with pytest.raises(KilledError):
                ask(each)


def test_torn_reads_are_short_or_break_off() -> None:
    storage, inner = breaking(Fault.TEAR)
    inner.put("marks/more", b"")
    assert storage.get(THERE) == b"01234"
    assert storage.get(THERE) == b"0123456789"
    storage, inner = breaking(Fault.TEAR)
    inner.put("marks/more", b"")
    listing = storage.list("")
    next(listing)
    with pytest.raises(RepositoryError):
        next(listing)
    assert len([*storage.list("")]) == 2


def test_a_full_medium_stays_full_and_lets_go_of_objects() -> None:
    storage, inner = breaking(Fault.FULL, at=2)
    assert storage.get(THERE)
    for _ in range(2):
        with pytest.raises(StorageFullError):
            storage.put("marks/new", b"abcdef")
    storage.delete(THERE)
    assert inner.objects == {}
    storage.breakage.mend()
    storage.put("marks/new", b"abcdef")


def test_a_medium_that_is_gone_answers_nothing_more(tmp_path: Path) -> None:
    storage, _ = breaking(Fault.GONE, at=2, among=CHANGES)
    storage.put("marks/first", b"")
    for ask in (requests(tmp_path)[Operation.PUT], *requests(tmp_path).values()):
        with pytest.raises(RepositoryError):
            ask(storage)


def test_a_process_that_sleeps_goes_on_with_what_is_there_then() -> None:
    inner = medium()
    seen: list[str] = []

    def meanwhile() -> None:
        seen.append("others")
        inner.delete(THERE)

    storage = FaultyStorage(inner, breakage=Breakage(Fault.SLEEP, 2, meanwhile=meanwhile))
    assert storage.size(THERE) == 10
    assert [*storage.list("")] == []
    assert seen == ["others"]
