"""What a prune deletes, repacks and keeps (3.4)."""

from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import back_up, checked, files, forget, packs, require_backup, run
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def test_what_no_backup_uses_goes_and_all_else_stays(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(20)))
    second = back_up(repository, tmp_path / "tree", files(*range(5), *range(30, 40)))
    forget(repository, first)
    before = sum(map(len, storage.objects.values()))
    report = run(storage)
    assert report.finished
    assert report.backups == 1
    assert report.removed_backups == 1
    assert report.deleted_packs > 0
    after = checked(storage)
    assert (after.backups, after.unreferenced_packs, after.unused_packs) == (1, 0, 0)
    assert sum(map(len, storage.objects.values())) < before - 10 * 40_000
    require_backup(repository, second, files(*range(5), *range(30, 40)), tmp_path / "restored")
    left = {name.split("/")[0] for name in storage.objects}
    assert left.isdisjoint({"marks", "sessions"})
    again = run(storage)
    assert (again.plan.delete, again.plan.repack, again.sweep) == ((), (), 0)


def test_a_repository_with_nothing_to_do_is_left_as_it_is(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    back_up(repository, tmp_path / "tree", files(1, 2, 3))
    before = dict(storage.objects)
    report = run(storage)
    assert report.finished
    assert storage.objects == before


def test_a_dry_run_tells_the_same_and_does_nothing(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(20)))
    back_up(repository, tmp_path / "tree", files(*range(5)))
    forget(repository, first)
    before = dict(storage.objects)
    told = run(storage, dry_run=True)
    assert storage.objects == before
    done = run(storage)
    assert done.plan == told.plan
    assert told.plan.bytes_to_free > 0
    assert packs(repository).isdisjoint({f"packs/{p.pack_id.hex()[:2]}/{p.pack_id.hex()}" for p in told.plan.delete})
