"""The reserve on a full medium: spent only for a put, taken again at once, never lost without a loud word (3.4)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import StorageFullError
from repositories.engine.forgetting import ForgetRequest
from repositories.engine.forgetting import forget as forget_by_plan
from repositories.engine.forgetting import plan as plan_of
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.ids import system_randomness
from repositories.engine.manifest.backups import list_backups
from repositories.engine.process.forget_fields import forget_document
from repositories.engine.process.prune_operation import prune_fields
from repositories.engine.process.repair_operation import repair_fields
from repositories.engine.prune.reserve import ReservedStorage, ReserveLeft, put_back
from repositories.engine.storage.base import Storage
from tests.engine.prune.builders import back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.prune.test_full_medium import FullStorage
from tests.engine.repair.hurting import mend
from tests.engine.repositories import make_repository

MIB = 1024 * 1024


def full(tmp_path: Path, room: int = 0) -> FullStorage:
    """Return a medium with two backups and so many bytes of room."""
    storage = FullStorage()
    repository = make_repository(storage)
    for number in (1, 2):
        back_up(repository, tmp_path / "tree", files(number, size=2000))
    storage.room = room
    return storage


def forget_one(storage: Storage) -> dict[str, object]:
    repository = reopened(storage)
    planned = plan_of(repository, ForgetRequest((list_backups(repository)[0].manifest_id,)))
    return forget_document(planned, forget_by_plan(repository, planned))


def prune_all(storage: Storage) -> dict[str, object]:
    return prune_fields(run(storage))


def repair_all(storage: Storage) -> dict[str, object]:
    return repair_fields(mend(storage), read_data=False)


DELETIONS = [forget_one, prune_all, repair_all]


@pytest.mark.parametrize("operation", [prune_all, repair_all])
def test_nothing_to_do_on_a_full_medium_leaves_the_reserve_whole(
    tmp_path: Path, operation: Callable[[Storage], dict[str, object]]
) -> None:
    """It spent 4 MiB for a lease, and asked for 5 MiB to put them back."""
    storage = full(tmp_path)
    for _ in range(2):
        told = operation(storage)
        assert (told["exit_code"], told["reserve_used"], told["reserve_lack"]) == (0, True, "")
        assert told.get("step_count", 0) == 0
        assert len(storage.objects[RESERVE_NAME]) == 4 * MIB
    assert checked(storage, read_data=False).reserve == "present"


def test_backups_that_fill_each_free_byte_do_not_get_the_room_of_the_reserve(tmp_path: Path) -> None:
    """A prune may wait for hours between two puts: what lay open meanwhile was gone, and no prune could end."""
    storage = full(tmp_path)
    repository = reopened(storage)
    (first, second) = (each.manifest_id for each in list_backups(repository))
    storage.room = None
    forget(repository, first)
    storage.room = 0
    looks = 0

    def eat() -> bool:
        nonlocal looks
        assert RESERVE_NAME in storage.objects
        looks += 1
        storage.room = 0
        return False

    report = run(storage, Hooks(cancelled=eat))
    assert (report.finished, report.deleted_packs > 0, looks > 3) == (True, True, True)
    assert (report.reserve_used, report.reserve_gone) == (True, False)
    assert len(storage.objects[RESERVE_NAME]) > 4 * MIB * 9 // 10
    checked(storage)
    require_backup(reopened(storage), second, files(2, size=2000), tmp_path / "out")


@pytest.mark.parametrize("operation", DELETIONS)
def test_without_a_reserve_the_next_step_is_not_the_command_that_failed(
    tmp_path: Path, operation: Callable[[Storage], dict[str, object]]
) -> None:
    storage = full(tmp_path)
    del storage.objects[RESERVE_NAME]
    with pytest.raises(StorageFullError) as caught:
        operation(storage)
    assert "the reserve" in caught.value.message
    assert "free 5.00 MiB otherwise" in caught.value.hint
    assert not any(word in caught.value.hint for word in ("forget", "prune", "repair"))


@pytest.mark.parametrize("operation", DELETIONS)
def test_a_reserve_that_was_used_up_is_told_and_ends_with_3(
    tmp_path: Path, operation: Callable[[Storage], dict[str, object]]
) -> None:
    """Each gives it up for its first object; of what little there was nothing to speak of comes back."""
    storage = full(tmp_path)
    storage.objects[RESERVE_NAME] = bytes(5000)
    told = operation(storage)
    assert (told["reserve_used"], told["reserve_gone"]) == (True, True)
    assert "4.00 MiB" in str(told["reserve_lack"])
    # What was short before is a step of a repair, which it could not carry out.
    assert told.get("exit_code", 3) == (13 if operation is repair_all else 3)


def test_a_smaller_reserve_is_better_than_none_and_grows_with_the_room() -> None:
    storage = FullStorage()
    sizes = []
    for room in (0, MIB, 10_000, MIB, 5 * MIB):
        storage.room = room
        left = put_back(storage, system_randomness)
        assert bool(left.lack) == (left.size < 4 * MIB)
        assert left.is_gone == (left.size < 2 * MIB)
        sizes.append(left.size)
    assert sizes == [0, MIB, MIB, 2 * MIB, 4 * MIB]
    assert put_back(storage, system_randomness) == ReserveLeft(4 * MIB)


def test_a_prune_takes_what_room_there_is_for_a_missing_reserve_and_says_what_is_missing(tmp_path: Path) -> None:
    storage = full(tmp_path, MIB)
    del storage.objects[RESERVE_NAME]
    told = prune_all(storage)
    assert (told["exit_code"], told["reserve_used"], told["reserve_gone"]) == (3, False, True)
    assert told["reserve_lack"] == "3.00 MiB of 4.00 MiB are missing, and 0 B are free"
    storage.room = 6 * MIB
    assert (prune_all(storage)["exit_code"], len(storage.objects[RESERVE_NAME])) == (0, 4 * MIB)


class Crossed(FullStorage):
    """Another process has given the reserve up just before, or has put one right behind the object "sessions/a"."""

    def __init__(self) -> None:
        super().__init__()
        self.put(RESERVE_NAME, bytes(4 * MIB))
        self.room = 0

    def delete(self, name: str) -> None:
        super().delete(name)
        if self.crossing == "given up":
            super().delete(name)

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        super().put(name, data, overwrite=overwrite)
        if name == "sessions/a" and self.crossing == "put":
            super().put(RESERVE_NAME, bytes(3 * MIB))

    crossing = ""


def test_a_reserve_that_another_process_has_given_up_at_this_moment_leaves_its_room_to_both() -> None:
    storage = Crossed()
    storage.crossing = "given up"
    mine = ReservedStorage(storage)
    mine.put("sessions/a", bytes(100))
    assert (mine.spent, sorted(storage.objects)) == (False, ["sessions/a"])


def test_a_larger_reserve_that_another_process_has_put_is_not_replaced() -> None:
    storage = Crossed()
    storage.crossing = "put"
    mine = ReservedStorage(storage)
    mine.put("sessions/a", bytes(100))
    assert (mine.spent, len(storage.objects[RESERVE_NAME])) == (True, 3 * MIB)


@pytest.mark.parametrize("fits", [True, False])
def test_the_reserve_is_taken_again_right_behind_the_object_that_needed_it(fits: bool) -> None:
    storage = Crossed()
    mine = ReservedStorage(storage)
    if fits:
        mine.put("sessions/a", bytes(100))
    else:
        with pytest.raises(StorageFullError, match="too small for it"):
            mine.put("index/aa", bytes(5 * MIB))
    assert (mine.spent, storage.room) == (True, 0)
    assert len(storage.objects[RESERVE_NAME]) == 4 * MIB - (100 if fits else 0)
