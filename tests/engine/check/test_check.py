"""Checks find what was damaged on the medium, and say which backups and paths it hurts."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import build_everything, pattern


def run(storage: MemoryStorage, *, read_data: bool = True) -> CheckReport:
    return check(open_repository(storage, PASSWORD), CheckRequest(read_data=read_data), Hooks())


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    storage = MemoryStorage()
    repository = make_repository(storage)
    build_everything(tmp_path / "tree")
    back_up_tree(repository, tmp_path / "tree")
    (tmp_path / "tree" / "new").write_bytes(pattern(400_000, 7))
    back_up_tree(repository, tmp_path / "tree")
    return storage


def packs(storage: MemoryStorage, repository: Repository, pack_class: int) -> list[str]:
    found = repository.reader().index.packs().values()
    return [f"packs/{p.pack_id.hex()[:2]}/{p.pack_id.hex()}" for p in found if p.pack_class == pack_class]


def flip(storage: MemoryStorage, name: str, position: int) -> None:
    data = bytearray(storage.objects[name])
    data[position] ^= 1
    storage.objects[name] = bytes(data)


def test_a_whole_repository_has_no_problems(storage: MemoryStorage) -> None:
    for read_data in (False, True):
        report = run(storage, read_data=read_data)
        assert report.problems == []
        assert report.ok
        assert report.backups == 2
        assert report.hurt == []
        assert (report.unused_packs, report.unused_bytes) == (0, 0)
    assert report.chunks_read >= report.chunks_referenced > 20
    assert report.bytes_read == sum(len(data) for name, data in storage.objects.items() if name.startswith("packs/"))


def test_packs_that_no_backup_uses_are_counted(storage: MemoryStorage) -> None:
    """With all manifests gone there is nothing to miss, and yet something is wrong."""
    manifests = {name: storage.objects.pop(name) for name in list(storage.objects) if "manifests/" in name}
    assert len(manifests) == 4
    report = run(storage)
    assert (report.ok, report.backups, report.unused_packs) == (True, 0, report.packs)
    assert report.unused_bytes == report.bytes_read > 0
    # The second backup alone needs all packs of the first, but for what it wrote itself.
    first, *_ = sorted(name for name in manifests if name.startswith("manifests/"))
    storage.objects.update({name: data for name, data in manifests.items() if name.endswith(first.rpartition("/")[2])})
    assert 0 <= run(storage).unused_packs < report.packs


def test_problems_and_pages_with_long_keys_count_as_used(tmp_path: Path) -> None:
    storage = MemoryStorage()
    repository = make_repository(storage)
    (tmp_path / "tree").mkdir()
    deep = tmp_path / "tree"
    for _ in range(12):
        deep = deep / ("d" * 200)
        deep.mkdir()
    (deep / "file").write_bytes(pattern(1000, 3))
    back_up_tree(repository, tmp_path / "tree")
    report = run(storage)
    assert (report.ok, report.packs > 0, report.unused_packs) == (True, True, 0)


def test_a_flipped_byte_is_found_and_named_by_path(storage: MemoryStorage) -> None:
    repository = open_repository(storage, PASSWORD)
    name = packs(storage, repository, 1)[0]
    flip(storage, name, len(storage.objects[name]) // 2)
    assert run(storage, read_data=False).ok
    report = run(storage)
    assert not report.ok
    assert report.exit_code == 13
    assert name in {problem.object for problem in report.problems}
    assert report.hurt
    assert report.hurt[0].paths


def test_every_byte_of_a_pack_counts(storage: MemoryStorage) -> None:
    """Wherever a pack is changed, its footer and directory included, check --read-data says so."""
    repository = open_repository(storage, PASSWORD)
    name = packs(storage, repository, 2)[0]
    size = len(storage.objects[name])
    for position in (0, 30, 71, 72, 100, size // 2, size - 60, size - 20, size - 1):
        flip(storage, name, position)
        assert not run(storage).ok, position
        flip(storage, name, position)
    assert run(storage).ok


def test_missing_and_cut_packs_are_found_without_reading(storage: MemoryStorage) -> None:
    repository = open_repository(storage, PASSWORD)
    name = packs(storage, repository, 1)[-1]
    whole = storage.objects[name]
    storage.objects[name] = whole[:-1]
    report = run(storage, read_data=False)
    assert [problem.kind for problem in report.problems][:1] == ["pack"]
    assert report.hurt
    del storage.objects[name]
    report = run(storage, read_data=False)
    assert "missing" in report.problems[0].message
    assert report.hurt


def test_one_lost_copy_is_found_though_everything_still_works(storage: MemoryStorage) -> None:
    doubled = [name for name in storage.objects if name.startswith("copies/")]
    kinds = {name.split("/")[1] for name in doubled}
    assert kinds >= {"config", "keyrings", "slots", "index", "manifests"}
    for kind in sorted(kinds):
        name = next(each for each in doubled if each.split("/")[1] == kind)
        for victim in (name, name.removeprefix("copies/")):
            data = storage.objects.pop(victim)
            assert victim in {problem.object for problem in run(storage, read_data=False).problems}
            storage.objects[victim] = data
            flip(storage, victim, len(data) - 1)
            assert not run(storage, read_data=False).ok
            storage.objects[victim] = data


def test_a_lost_manifest_is_named(storage: MemoryStorage) -> None:
    name = next(each for each in storage.objects if each.startswith("manifests/"))
    for victim in (name, "copies/" + name):
        flip(storage, victim, len(storage.objects[victim]) - 1)
    report = run(storage, read_data=False)
    assert report.backups == 1
    assert any(problem.kind == "manifest" and problem.object == name for problem in report.problems)


def test_a_damaged_page_hurts_the_backups_that_use_it(storage: MemoryStorage) -> None:
    repository = open_repository(storage, PASSWORD)
    name = packs(storage, repository, 2)[0]
    flip(storage, name, 200)
    report = run(storage)
    assert {each.backup_id for each in report.hurt} <= {backup.id for backup in list_backups(repository)}
    assert report.hurt


def test_damage_is_remembered_and_healed_by_the_next_backup(storage: MemoryStorage, tmp_path: Path) -> None:
    """engine.md 3: a damaged chunk that the source still has is stored again."""
    repository = open_repository(storage, PASSWORD)
    name = packs(storage, repository, 1)[0]
    flip(storage, name, len(storage.objects[name]) // 2)
    assert run(storage).remembered
    damage = [each for each in storage.objects if each.startswith("damage/")]
    assert damage
    run(storage)
    assert [each for each in storage.objects if each.startswith("damage/")] == damage
    result = back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    assert result.new_chunks > 0
    healed = run(storage)
    assert (healed.hurt, healed.ok, healed.replaced_packs) == ([], True, 1)


def test_the_copy_that_is_damaged_is_the_one_that_is_named(storage: MemoryStorage) -> None:
    for kind in ("config", "slots", "manifests"):
        name = next(each for each in storage.objects if each.startswith(f"copies/{kind}/"))
        for victim in (name, name.removeprefix("copies/")):
            flip(storage, victim, len(storage.objects[victim]) - 1)
            assert [problem.object for problem in run(storage, read_data=False).problems] == [victim]
            flip(storage, victim, len(storage.objects[victim]) - 1)


def test_the_last_check_tells_which_backups_are_hurt(storage: MemoryStorage, tmp_path: Path) -> None:
    first, second = (backup.manifest_id for backup in list_backups(open_repository(storage, PASSWORD)))
    run(storage, read_data=False)
    assert open_repository(storage, PASSWORD).hurt_manifests() == frozenset()
    names = packs(storage, open_repository(storage, PASSWORD), 1)
    whole = {name: storage.objects.pop(name) for name in names}
    run(storage, read_data=False)
    assert open_repository(storage, PASSWORD).hurt_manifests() == {first, second}
    storage.objects.update(whole)
    run(storage, read_data=False)
    assert open_repository(storage, PASSWORD).hurt_manifests() == frozenset()
