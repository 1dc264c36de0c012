"""Deletions, holds and undeletes on a medium that breaks or is full: all or nothing, and the next try succeeds."""

from collections.abc import Callable

import pytest

from repositories.engine.errors import StorageFullError
from repositories.engine.forgetting import LabelChange, change_labels, forget, place_hold, plan, undelete
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.limits import MIB
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.forgetting.builders import DAY, NOW, SetClock, backup, listed, named, new_repository, put_backup
from tests.engine.repositories import PASSWORD

Act = Callable[[Repository, list[str]], object]


def delete(repository: Repository, made: list[str]) -> object:
    return forget(repository, plan(repository, named(repository, *made[:2])))


def bring_back(repository: Repository, _: list[str]) -> object:
    return undelete(repository, [], everything=True)


def hold(repository: Repository, made: list[str]) -> object:
    return place_hold(repository, backup(repository, made[2]), "audit").certain


def label(repository: Repository, made: list[str]) -> None:
    change_labels(repository, backup(repository, made[2]), LabelChange(("a", "b"), ("own",), "note"))


def opened(storage: Storage) -> Repository:
    return open_repository(storage, PASSWORD, clock=SetClock())


def prepared(act: Act) -> tuple[MemoryStorage, list[str]]:
    storage = MemoryStorage()
    repository = new_repository(storage)
    made = [put_backup(repository, NOW - age * DAY, tags=["own"]) for age in (3, 2, 1)]
    if act is bring_back:
        delete(repository, made)
    return storage, made


@pytest.mark.parametrize("act", [delete, bring_back, hold, label], ids=lambda act: act.__name__)
@pytest.mark.parametrize("fault", [Fault.FULL, Fault.TEAR, Fault.KILL], ids=lambda fault: fault.value)
def test_a_fault_at_each_write_leaves_all_or_nothing(act: Act, fault: Fault) -> None:
    for at in range(1, 10):
        storage, made = prepared(act)
        before = listed(opened(storage))
        faulty = FaultyStorage(storage, fault, at)
        try:
            act(opened(faulty), made)
        except (StorageFullError, KilledError):
            after = listed(opened(storage))
            assert after in (before, made[2:], made), "no part of a deletion"
        else:
            assert at > 1, "something was written"
            return
        act(opened(storage), made)
        assert listed(opened(storage)) == (made[2:] if act is delete else made)
    raise AssertionError("it never came to its end")


class Tight(MemoryStorage):
    """A medium with so many bytes of room."""

    room = 64 * MIB

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if sum(map(len, self.objects.values())) + len(data) > self.room:
            raise StorageFullError("full")
        super().put(name, data, overwrite=overwrite)


def test_a_full_medium_lets_backups_be_deleted_and_keeps_a_reserve() -> None:
    """39: else nothing could ever be cleaned."""
    storage = Tight()
    repository = new_repository(storage)
    made = [put_backup(repository, NOW - age * DAY) for age in (3, 2, 1)]
    storage.objects[RESERVE_NAME] = bytes(4 * MIB)
    storage.room = sum(map(len, storage.objects.values()))
    with pytest.raises(StorageFullError) as full:
        place_hold(repository, backup(repository, made[0]), "a hold is no deletion")
    assert "do not prune before" in full.value.hint
    for number in (1, 2):
        assert forget(repository, plan(repository, named(repository, made[number - 1]))).reserve_used
        assert listed(repository) == made[number:]
        assert len(storage.objects[RESERVE_NAME]) >= 3 * MIB
        storage.room = sum(map(len, storage.objects.values()))
    with pytest.raises(StorageFullError) as full:
        undelete(repository, [made[0]])
    assert "do not prune before" in full.value.hint
    with pytest.raises(StorageFullError) as full:
        change_labels(repository, backup(repository, made[2]), LabelChange(add=("yearly",)))
    assert "do not prune before" in full.value.hint
