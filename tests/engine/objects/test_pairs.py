"""Objects that are written twice: both or none, either is enough, the union is listed."""

import pytest

from repositories.engine.errors import (
    IntegrityError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    StorageFullError,
)
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.objects.pairs import delete_all, list_names, put_all, read_either
from repositories.engine.objects.store import steadily
from repositories.engine.storage.faults import Breakage, Fault, FaultyStorage
from repositories.engine.storage.memory import MemoryStorage

NAME = f"index/{'ab' * 16}"


def parse(data: bytes) -> bytes:
    if data == b"damaged":
        raise IntegrityError("damaged")
    return data


def test_both_copies_are_put_and_deleted() -> None:
    storage = MemoryStorage()
    put_all(storage, ObjectKind.INDEX, NAME, b"data")
    assert storage.objects == {NAME: b"data", "copies/" + NAME: b"data"}
    assert list(list_names(storage, ObjectKind.INDEX)) == [NAME]
    delete_all(storage, ObjectKind.INDEX, NAME)
    delete_all(storage, ObjectKind.INDEX, NAME)
    assert storage.objects == {}


def test_a_failed_second_put_takes_the_first_back() -> None:
    storage = MemoryStorage()
    with pytest.raises(StorageFullError):
        put_all(FaultyStorage(storage, Fault.FULL, 2), ObjectKind.INDEX, NAME, b"data")
    assert storage.objects == {}


@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.LOSE_ANSWER])
def test_what_was_not_answered_is_not_taken_back(fault: Fault) -> None:
    """It may be there, or come yet, and others may rely on it by then."""
    storage = MemoryStorage()
    faulty = FaultyStorage(storage, fault, 2)
    with pytest.raises(RepositoryError):
        put_all(faulty, ObjectKind.INDEX, NAME, b"data")
    assert set(storage.objects) == ({NAME} if fault is Fault.FAIL else {NAME, "copies/" + NAME})


def test_a_copy_that_a_prune_put_for_one_that_slept_is_its_own() -> None:
    storage = MemoryStorage()
    storage.objects["copies/" + NAME] = b"data"
    put_all(storage, ObjectKind.INDEX, NAME, b"data")
    assert storage.objects == {NAME: b"data", "copies/" + NAME: b"data"}
    storage.objects.pop(NAME)
    with pytest.raises(ObjectExistsError):
        put_all(storage, ObjectKind.INDEX, NAME, b"other")
    assert storage.objects == {"copies/" + NAME: b"data"}


def test_what_was_cut_on_its_way_is_read_once_more() -> None:
    storage = MemoryStorage()
    storage.objects[NAME] = b"damaged, but for the first half"

    def parse_whole(data: bytes) -> bytes:
        if len(data) < 31:
            raise IntegrityError("short")
        return data

    faulty = FaultyStorage(storage, breakage=Breakage(Fault.TEAR, 1))
    assert read_either(faulty, ObjectKind.INDEX, NAME, parse_whole) == storage.objects[NAME]


@pytest.mark.parametrize("broken", [NAME, "copies/" + NAME])
def test_either_copy_is_enough(broken: str) -> None:
    storage = MemoryStorage()
    put_all(storage, ObjectKind.INDEX, NAME, b"data")
    storage.objects[broken] = b"damaged"
    assert read_either(storage, ObjectKind.INDEX, NAME, parse) == b"data"
    del storage.objects[broken]
    assert read_either(storage, ObjectKind.INDEX, NAME, parse) == b"data"
    assert list(list_names(storage, ObjectKind.INDEX)) == [NAME]


def test_damage_is_told_rather_than_absence() -> None:
    storage = MemoryStorage()
    with pytest.raises(ObjectMissingError):
        read_either(storage, ObjectKind.INDEX, NAME, parse)
    storage.objects["copies/" + NAME] = b"damaged"
    with pytest.raises(IntegrityError):
        read_either(storage, ObjectKind.INDEX, NAME, parse)


def test_foreign_names_are_not_listed() -> None:
    storage = MemoryStorage()
    storage.objects.update({NAME: b"", "index/note.txt": b"", "indexes/x": b"", f"copies/index/{'cd' * 16}": b""})
    assert list(list_names(storage, ObjectKind.INDEX)) == [NAME, f"index/{'cd' * 16}"]


def test_what_vanishes_between_listing_and_reading_is_looked_for_again() -> None:
    calls = []

    def read() -> int:
        calls.append(1)
        if len(calls) < 3:
            raise ObjectMissingError("swept")
        return 5

    assert steadily(read) == 5
    calls.clear()
    with pytest.raises(ObjectMissingError):
        steadily(read, tries=2)
