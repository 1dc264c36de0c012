"""Backups that were taken away are missed: later ones name them (engine.md, section 5)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def manifests(storage: MemoryStorage, tmp_path: Path) -> list[str]:
    """Back up two sources, then the first again; return the manifests' ids in order."""
    repository = make_repository(storage)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    results = [back_up_tree(repository, tmp_path / "tree", name=name) for name in ("one", "two", "one")]
    return [result.manifest_id for result in results]


def run(storage: MemoryStorage) -> CheckReport:
    return check(opened(storage), CheckRequest(), Hooks())


def opened(storage: MemoryStorage) -> Repository:
    return open_repository(storage, PASSWORD)


def remove(storage: MemoryStorage, manifest_id: str) -> None:
    for name in (f"manifests/{manifest_id}", f"copies/manifests/{manifest_id}"):
        del storage.objects[name]


@pytest.mark.parametrize("which", [0, 1], ids=["a parent", "another source's"])
def test_a_manifest_that_was_taken_away_is_missed(storage: MemoryStorage, manifests: list[str], which: int) -> None:
    assert run(storage).ok
    remove(storage, manifests[which])
    report = run(storage)
    assert report.exit_code == 13
    (problem,) = report.problems
    assert (problem.kind, problem.object) == ("manifest", f"manifests/{manifests[which]}")
    assert "lost or withheld" in problem.message


def test_a_deleted_backup_is_not_missed_until_the_deletion_is_undone(
    storage: MemoryStorage, manifests: list[str]
) -> None:
    store = opened(storage).store
    gone = bytes.fromhex(manifests[0])
    tombstone = store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((gone,), 1, "keep rule")))
    remove(storage, manifests[0])
    assert run(storage).ok
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((), 2, "undone", tombstone)))
    assert not run(storage).ok


def test_a_part_of_a_deletion_that_is_undone_leaves_the_rest_known(
    storage: MemoryStorage, manifests: list[str]
) -> None:
    """What a prune has taken of a deletion is no loss because another part of it was brought back."""
    store = opened(storage).store
    gone, back = (bytes.fromhex(each) for each in manifests[:2])
    tombstone = store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((gone, back), 1, "keep rule")))
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((back,), 2, "undone", tombstone)))
    remove(storage, manifests[0])
    assert run(storage).ok
    remove(storage, manifests[1])
    assert [problem.object for problem in run(storage).problems] == [f"manifests/{manifests[1]}"]


def test_what_a_deleted_backup_names_is_missed_too(storage: MemoryStorage, manifests: list[str]) -> None:
    """3.14: the one that names it may be deleted; and a deleted one is no problem itself, nor is its lack later."""
    store = opened(storage).store
    store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((bytes.fromhex(manifests[1]),), 1, "keep rule")))
    report = run(storage)
    assert (report.ok, report.backups) == (True, 2)
    remove(storage, manifests[0])
    assert [problem.object for problem in run(storage).problems] == [f"manifests/{manifests[0]}"]
