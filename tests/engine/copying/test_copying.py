"""Copies between related and unrelated repositories: whole, verified, with id and origin (3.6)."""

import os
from pathlib import Path

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import BackupNotFoundError, ConfigurationError, OperationCancelledError
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.directory import BlockRecord
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import copy, require_equal, target_for
from tests.engine.copying.small import clone, opened
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import build_everything, change, pattern

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryStorage, Path]:
    """The medium of a repository with three backups of one source, and that source."""
    tree = tmp_path_factory.mktemp("source") / "tree"
    build_everything(tree)
    (tree / "long").write_bytes(os.urandom(64 << 10) * 3)
    storage = MemoryStorage()
    repository = make_repository(storage)
    back_up_tree(repository, tree, tags=("weekly",))
    change(tree / "small", b"second", 10**18)
    back_up_tree(repository, tree)
    change(tree / "more", pattern(50_000), 10**18)
    back_up_tree(repository, tree)
    return storage, tree


@pytest.fixture
def tree(made: tuple[MemoryStorage, Path]) -> Path:
    return made[1]


@pytest.fixture
def origin(made: tuple[MemoryStorage, Path]) -> Repository:
    """A repository with three backups, on a medium of the test's own."""
    return opened(clone(made[0]))


def facts(repository: Repository) -> list[tuple[object, ...]]:
    """What a copy keeps of each backup."""
    kept = ("origin", "source", "statistics", "problem_counts", "started_ns", "finished_ns")
    found: list[tuple[object, ...]] = []
    for each in list_backups(repository):
        lineage = each.root.lineage
        whence = (each.id, each.received_ns, lineage.chain, lineage.mode, lineage.parent)
        found.append((*whence, *(getattr(each.root, name) for name in kept)))
    return found


@RELATION
def test_all_backups_with_all_they_are(origin: Repository, tmp_path: Path, related: bool) -> None:
    target = target_for(origin, related=related)
    report = copy(origin, target)
    assert (report.related, report.exit_code, report.there, len(report.copied)) == (related, 0, 0, 3)
    assert facts(target) == facts(origin)
    assert check(target, CheckRequest(read_data=True), Hooks()).problems == []
    require_equal(origin, target, tmp_path / "restored")


@RELATION
def test_lineage_is_the_targets(origin: Repository, related: bool) -> None:
    """Parents are mapped, sequence and heads are those of the target; each copy says whence it comes."""
    target = target_for(origin, related=related)
    copy(origin, target)
    first, second, third = list_backups(target)
    assert [each.root.lineage.sequence for each in (first, second, third)] == [1, 2, 3]
    assert first.root.lineage.parent_manifest is None
    assert second.root.lineage.parent_manifest == bytes.fromhex(first.manifest_id)
    assert third.root.lineage.heads == (bytes.fromhex(second.manifest_id),)
    for copied, original in zip(list_backups(target), list_backups(origin), strict=True):
        assert copied.copied is not None
        assert copied.copied.repository_id == origin.config.repository_id
        assert copied.copied.manifest_id.hex() == original.manifest_id
        assert original.copied is None


@RELATION
def test_a_second_copy_does_nothing(origin: Repository, related: bool) -> None:
    target = target_for(origin, related=related)
    copy(origin, target)
    before = {stored.name for stored in target.object_names()}
    again = copy(origin, target)
    assert (again.there, again.copied, again.bytes_read) == (3, [], 0)
    assert {stored.name for stored in target.object_names()} == before


@RELATION
def test_only_what_is_new_is_stored(origin: Repository, tree: Path, tmp_path: Path, related: bool) -> None:
    target = target_for(origin, related=related)
    copy(origin, target)
    change(tree / "small", b"fourth", 10**18)
    back_up_tree(origin, tree)
    report = copy(origin, target)
    assert (report.there, len(report.copied)) == (3, 1)
    assert report.copied[0].missing_bytes < 200_000
    assert report.new_chunks <= 4
    require_equal(origin, target, tmp_path / "restored")


def blocks_of(repository: Repository) -> list[BlockRecord]:
    return [block for pack in repository.reader().index.packs().values() for block in pack.blocks]


def test_whole_blocks_are_not_compressed_again(origin: Repository) -> None:
    """engine.md 2: between related repositories blocks are sealed anew and stay as they are inside."""
    target = target_for(origin, related=True)
    report = copy(origin, target)
    assert 0 < report.resealed_blocks <= len(blocks_of(origin))
    old, new = (
        {block.length for pack in each.reader().index.packs().values() for block in pack.blocks}
        for each in (origin, target)
    )
    assert len(old & new) >= len(old) - 3


def test_a_backup_finds_what_was_copied(origin: Repository, tree: Path) -> None:
    """The chunks of a related copy are those that a backup of the same source makes."""
    target = target_for(origin, related=True)
    copy(origin, target)
    result = back_up_tree(target, tree)
    assert result.parent_id == list_backups(origin)[-1].id
    assert result.new_chunks <= 2
    assert result.sequence == 4


@RELATION
def test_a_copy_of_an_old_backup_does_not_become_the_newest(origin: Repository, tree: Path, related: bool) -> None:
    """What is latest, and whose child the next backup is, follows the time of receipt."""
    target = target_for(origin, related=related)
    own = back_up_tree(target, tree).backup_id
    copy(origin, target)
    copied = [each.id for each in list_backups(origin)]
    assert [each.id for each in list_backups(target)] == [*copied, own]
    assert [each.root.lineage.sequence for each in list_backups(target)] == [0, 0, 0, 1]
    assert check(target, CheckRequest(), Hooks()).problems == []


def test_a_choice_of_backups(origin: Repository, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"x")
    back_up_tree(origin, tmp_path / "other", name="other")
    target = target_for(origin, related=False)
    assert len(copy(origin, target, source="other").copied) == 1
    second = list_backups(origin)[1]
    assert [each.backup.id for each in copy(origin, target, backups=(second.short_id,)).copied] == [second.id]
    assert second.id in {each.id for each in list_backups(target)}
    with pytest.raises(BackupNotFoundError):
        copy(origin, target, backups=("nothing",))


@RELATION
def test_a_dry_run_writes_nothing(origin: Repository, related: bool) -> None:
    target = target_for(origin, related=related)
    before = {stored.name for stored in target.object_names()}
    planned = copy(origin, target, dry_run=True)
    assert {stored.name for stored in target.object_names()} == before
    done = copy(origin, target)
    assert [each.backup.id for each in planned.copied] == [each.backup.id for each in done.copied]
    if related:
        assert [each.missing_bytes for each in planned.copied] == [each.missing_bytes for each in done.copied]
    else:
        assert planned.copied[0].missing_bytes >= done.copied[0].missing_bytes > 0


def test_into_itself_is_refused(origin: Repository) -> None:
    with pytest.raises(ConfigurationError):
        copy(origin, origin)


@RELATION
def test_cancelled(origin: Repository, related: bool) -> None:
    target = target_for(origin, related=related)
    with pytest.raises(OperationCancelledError):
        copy(origin, target, Hooks(cancelled=lambda: True))
    assert list_backups(target) == []
    assert list(target.object_names("sessions/")) == []


def test_refused_at_the_commit(origin: Repository) -> None:
    """Whoever stands behind a copy may take back its leave directly before a manifest is put."""

    class TakenBackError(Exception):
        pass

    def refuse() -> None:
        raise TakenBackError

    target = target_for(origin, related=True)
    with pytest.raises(TakenBackError):
        copy(origin, target, Hooks(confirm=refuse))
    assert list_backups(target) == []
