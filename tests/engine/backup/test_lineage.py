"""How backups hang together: parents, chains, heads, several in one session, and how one is found."""

from pathlib import Path

import pytest

from repositories.engine.errors import (
    BackupNotFoundError,
)
from repositories.engine.manifest.backups import find_backup, list_backups
from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree


def test_parents_hang_on_the_name_of_the_source(tree: Path, repository: Repository) -> None:
    first = back_up_tree(repository, tree, name="one")
    other = back_up_tree(repository, tree, name="two")
    assert (other.mode, other.chain) == ("full", other.backup_id)
    third = back_up_tree(repository, tree, name="one")
    assert third.parent_id == first.backup_id
    named = back_up_tree(repository, tree, name="one", parent=first.backup_id)
    assert named.parent_id == first.backup_id
    with pytest.raises(BackupNotFoundError, match="source"):
        back_up_tree(repository, tree, name="one", parent=other.backup_id)
    assert [backup.root.lineage.sequence for backup in list_backups(repository)] == [1, 2, 3, 4]


def test_each_manifest_links_the_heads_before_it(tree: Path, repository: Repository) -> None:
    """engine.md 5: a manifest that is linked and gone was lost or withheld."""
    ids = [back_up_tree(repository, tree, name=f"n{number}").manifest_id for number in range(3)]
    heads = [[head.hex() for head in backup.root.lineage.heads] for backup in list_backups(repository)]
    assert heads == [[], [ids[0]], [ids[1]]]


def test_find_backup_takes_parts_of_ids_and_latest(tree: Path, repository: Repository) -> None:
    results = [back_up_tree(repository, tree, name=name) for name in ("one", "two", "one")]
    for result in results:
        assert find_backup(repository, result.backup_id).id == result.backup_id
        assert find_backup(repository, find_backup(repository, result.backup_id).short_id).id == result.backup_id
        assert find_backup(repository, result.manifest_id[:12]).id == result.backup_id
    assert find_backup(repository, "latest").id == results[2].backup_id
    assert find_backup(repository, "latest", "two").id == results[1].backup_id
    for selector in ("nothing", "run", "run-", ""):
        with pytest.raises(BackupNotFoundError):
            find_backup(repository, selector)
    with pytest.raises(BackupNotFoundError):
        find_backup(repository, "latest", "three")


def test_a_backup_that_the_session_cannot_see_is_no_parent(tree: Path, repository: Repository) -> None:
    """Another writer commits while our session is open: its pages are not in our index."""
    first = back_up_tree(repository, tree)
    with repository.begin_write() as session:
        (tree / "a").write_bytes(b"newer")
        back_up_tree(repository, tree)
        result = back_up_tree(repository, tree, session=session)
    assert result.parent_id == first.backup_id
    assert result.problems == []
    assert result.sequence == 3


def test_one_session_commits_several_backups(tree: Path, repository: Repository) -> None:
    """A4: the repository is opened once per run; each source is a backup of its own."""
    with repository.begin_write() as session:
        first = back_up_tree(repository, tree, session=session)
        second = back_up_tree(repository, tree, session=session)
        other = back_up_tree(repository, tree, session=session, name="other")
    assert (second.parent_id, second.bytes_read) == (first.backup_id, 0)
    assert (other.new_chunks, other.bytes_read) == (0, first.bytes_read)
    assert len(list_backups(repository)) == 3
