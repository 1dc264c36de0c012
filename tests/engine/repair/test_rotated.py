"""Packs that an older key sealed, on a repository whose keys were rotated: salvaged as any other (3.2, 3.5)."""

from pathlib import Path

import pytest

from repositories.engine.format.headers import parse_object_header
from repositories.engine.index.recovery import is_current
from repositories.engine.keychain import rotate
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import run as prune
from tests.engine.repair.hurting import back_up, drop_index, flip, lying_aside, mend, packs, require_whole, run_check
from tests.engine.repositories import PASSWORD


@pytest.fixture
def rotated(storage: MemoryStorage, tmp_path: Path) -> MemoryStorage:
    """Return a repository all of whose packs are of the first epoch, but for those of a last backup."""
    rotate(keychain(storage), [PASSWORD])
    (tmp_path / "tree" / "new").write_bytes(b"changed since")
    back_up(storage, tmp_path)
    return storage


def old_packs(storage: MemoryStorage) -> list[str]:
    repository = open_repository(storage, PASSWORD)
    names = packs(storage, 1) + packs(storage, 2)
    newest = repository.keyring.current_epoch
    old = [name for name in names if parse_object_header(storage.objects[name][:72]).epoch != newest]
    assert 0 < len(old) < len(names)
    return old


def require_mended(storage: MemoryStorage, tmp_path: Path) -> None:
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")
    assert back_up(storage, tmp_path) == 0
    prune(storage)
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "pruned")


def test_bad_footers_of_old_packs_cost_nothing(rotated: MemoryStorage, tmp_path: Path) -> None:
    bad = old_packs(rotated)
    for name in bad:
        flip(rotated, name, -1)
    report = mend(rotated, read_data=True)
    assert (report.exit_code, report.chunks_lost) == (0, 0)
    assert lying_aside(rotated).keys() == set(bad)
    require_mended(rotated, tmp_path)


def test_a_bad_block_of_an_old_pack_is_healed_by_a_backup(rotated: MemoryStorage, tmp_path: Path) -> None:
    # The largest has what the source still has; the smallest one of data what was changed since.
    victim = max(set(old_packs(rotated)) & set(packs(rotated, 1)), key=lambda name: len(rotated.objects[name]))
    flip(rotated, victim)
    report = mend(rotated, read_data=True)
    assert report.exit_code == 13
    assert all(hurt.paths for hurt in report.after.hurt)
    assert back_up(rotated, tmp_path) >= 1
    assert run_check(rotated).ok
    require_mended(rotated, tmp_path)


def test_without_an_index_old_packs_are_sealed_anew(rotated: MemoryStorage, tmp_path: Path) -> None:
    """What no index names counts only under the current key; the old packs stay where they are until a prune."""
    drop_index(rotated)
    old = old_packs_on_medium(rotated)
    report = mend(rotated)
    assert (report.exit_code, report.chunks_lost) == (0, 0)
    assert report.chunks_saved > 0
    assert old <= rotated.objects.keys()
    assert run_check(rotated).ok
    store = open_repository(rotated, PASSWORD)
    assert all(is_current(store.store, pack) for pack in store.reader().index.packs().values())
    require_mended(rotated, tmp_path)
    assert not old & rotated.objects.keys()


@pytest.mark.parametrize("cut", [1, 60])
def test_without_index_and_directories_they_are_salvaged_by_their_parts(
    rotated: MemoryStorage, tmp_path: Path, cut: int
) -> None:
    names = [name for name in rotated.objects if name.startswith("packs/")]
    for name in names:
        rotated.objects[name] = rotated.objects[name][:-cut]
    drop_index(rotated)
    report = mend(rotated)
    assert (report.exit_code, report.chunks_lost) == (0, 0)
    assert lying_aside(rotated).keys() == set(names)
    require_mended(rotated, tmp_path)


@pytest.mark.parametrize("harm", ["epoch", "magic", "salt"])
def test_a_bad_header_of_an_old_pack_is_told_from_the_index(rotated: MemoryStorage, tmp_path: Path, harm: str) -> None:
    """The index has the header's bytes: what it begins with on the medium is not needed to read the blocks."""
    victim = old_packs(rotated)[0]
    flip(rotated, victim, {"epoch": 19, "magic": 0, "salt": 40}[harm])
    report = mend(rotated, read_data=True)
    assert (report.exit_code, report.chunks_lost) == (0, 0)
    require_mended(rotated, tmp_path)


def old_packs_on_medium(storage: MemoryStorage) -> set[str]:
    newest = open_repository(storage, PASSWORD).keyring.current_epoch
    names = [name for name in storage.objects if name.startswith("packs/")]
    return {name for name in names if parse_object_header(storage.objects[name][:72]).epoch != newest}
