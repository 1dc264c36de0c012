"""What is set aside lies there with its time, is listed, and goes only when somebody says so (3.2)."""

import os
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.prune.reserve import ReservedStorage
from repositories.engine.repair import AsideObject, list_aside, remove_aside
from repositories.engine.repair.aside import ASIDE, Aside
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.mounts import with_mounts
from tests.engine.prune.builders import back_up, files, reopened, require_backup
from tests.engine.prune.test_full_medium import MIB, FullStorage, fill, mount_small
from tests.engine.repair.hurting import flip, mend, packs, run_check
from tests.engine.repositories import CHEAP, PASSWORD

_SECOND = 1_000_000_000
_NOON = 1_764_504_000 * _SECOND


def test_it_lies_there_by_its_time_and_name(storage: MemoryStorage) -> None:
    storage.put("packs/ab/one", b"first")
    Aside(storage, _NOON + 5).take("packs/ab/one")
    storage.put(f"{ASIDE}packs/ab/old", b"of an earlier version")
    assert list_aside(storage) == [
        AsideObject("aside/packs/ab/old", "packs/ab/old", 21, None),
        AsideObject("aside/20251130t120000z/packs/ab/one", "packs/ab/one", 5, _NOON),
    ]


def test_it_is_kept_whatever_lies_there(storage: MemoryStorage) -> None:
    aside = Aside(storage, _NOON)
    for content in (b"first", b"first", b"second"):
        storage.put("packs/ab/one", content)
        aside.take("packs/ab/one")
    aside.take("packs/ab/one")
    assert {each.original for each in list_aside(storage)} == {"packs/ab/one"}
    assert {name: data for name, data in storage.objects.items() if name.startswith(ASIDE)} == {
        "aside/20251130t120000z/packs/ab/one": b"first",
        "aside/20251130t120000z.1/packs/ab/one": b"second",
    }


def test_a_move_that_died_between_copy_and_removal_goes_on(storage: MemoryStorage) -> None:
    storage.put("packs/ab/one", b"content")

    class NoDelete(FaultyStorage):
        def delete(self, name: str) -> None:
            raise KilledError("dead")

    with pytest.raises(KilledError):
        Aside(NoDelete(storage, Fault.KILL), _NOON).take("packs/ab/one")
    assert {"packs/ab/one", "aside/20251130t120000z/packs/ab/one"} <= storage.objects.keys()
    Aside(storage, _NOON + 60 * _SECOND).take("packs/ab/one")
    assert [each.name for each in list_aside(storage)] == ["aside/20251130t120000z/packs/ab/one"]
    assert "packs/ab/one" not in storage.objects


def test_a_repair_lists_what_lies_aside_and_removes_nothing(storage: MemoryStorage) -> None:
    victim = packs(storage, 1)[0]
    flip(storage, victim)
    report = mend(storage, read_data=True)
    assert [each.original for each in report.aside] == [victim]
    assert mend(storage).aside == report.aside


def test_it_is_removed_when_asked_for_by_age(storage: MemoryStorage) -> None:
    for number, moment in enumerate((_NOON, _NOON + 3600 * _SECOND)):
        storage.put(f"packs/ab/{number}", b"bad")
        Aside(storage, moment).take(f"packs/ab/{number}")
    before = {name: data for name, data in storage.objects.items() if not name.startswith(ASIDE)}
    repository = open_repository(storage, PASSWORD)
    old = [each for each in list_aside(storage) if each.is_from_before(_NOON + _SECOND)]
    with pytest.raises(OperationCancelledError):
        remove_aside(repository, old, Hooks(cancelled=lambda: True))
    assert remove_aside(repository, old, Hooks()) == 1
    assert remove_aside(repository, old, Hooks()) == 0
    assert [each.original for each in list_aside(storage)] == ["packs/ab/1"]
    assert {name: data for name, data in storage.objects.items() if not name.startswith(ASIDE)} == before


def on_a_full_medium(root: Path) -> tuple[int, bool, bool]:
    medium = root / "medium"
    medium.mkdir()
    mount_small(medium, 24 * MIB)
    storage = LocalStorage(str(medium / "repository"))
    repository = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP)).repository
    back_up(repository, root / "tree", files(1, 2, size=600_000))
    # All of it is bad: nothing is stored anew.
    victim = next(name for pack, name in ((each, each.name) for each in storage.list("packs/")) if pack.size > 300_000)
    path = medium / "repository" / victim
    path.chmod(0o600)
    path.write_bytes(b"\0" * path.stat().st_size)
    fill(medium)
    assert storage.free_space() == 0
    report = mend(storage, read_data=True)
    aside = [each.original for each in report.aside]
    os.unlink(medium / "filler")
    content = files(1, 2, size=600_000)
    newest = back_up(reopened(storage), root / "tree", content)
    require_backup(reopened(storage), newest, content, root / "restored")
    return report.exit_code, aside == [victim], run_check(storage).ok


def test_on_a_medium_without_a_byte_left_a_pack_is_set_aside(tmp_path: Path) -> None:
    """A rename needs no room; lease, damage record and directories take it from the reserve."""
    assert with_mounts(lambda: on_a_full_medium(tmp_path)) == (13, True, True)


def test_where_a_move_is_a_copy_the_reserve_makes_the_room() -> None:
    storage = FullStorage()
    storage.put(RESERVE_NAME, bytes(MIB))
    storage.put("packs/ab/one", bytes(1000))
    storage.room = 10
    reserved = ReservedStorage(storage)
    Aside(reserved, _NOON).take("packs/ab/one")
    assert reserved.spent
    assert [each.original for each in list_aside(storage)] == ["packs/ab/one"]


def test_a_dry_run_on_a_full_medium_leaves_the_reserve(storage: MemoryStorage) -> None:
    full = FullStorage()
    full.objects.update(storage.objects)
    flip(full, packs(full, 1)[0])
    full.room = 0
    assert mend(full, dry_run=True, read_data=True).exit_code == 13
    assert RESERVE_NAME in full.objects
