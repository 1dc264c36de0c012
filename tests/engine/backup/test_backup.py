"""A whole backup into a repository in memory: figures, notes, progress, and what ends it."""

import os
from pathlib import Path

import pytest

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import (
    ConfigurationError,
    LeaseLostError,
    OperationCancelledError,
    SourceEmptyError,
    SourceError,
    SourceMissingError,
)
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository
from tests.engine.repositories import LaterClock, back_up_tree, local_repository
from tests.engine.trees import add_socket, build_everything


def test_notes_are_counted_and_nothing_else(tree: Path, repository: Repository) -> None:
    add_socket(tree)
    (tree / "x.tmp").write_bytes(b"x")
    result = back_up_tree(repository, tree, excludes=("*.tmp",))
    assert (result.notes, result.skipped, result.warnings, result.problems) == (2, 0, 0, [])
    counts = {count.kind: count.count for count in list_backups(repository)[-1].root.problem_counts}
    assert counts == {"socket": 1, "excluded": 1}


def test_missing_and_empty_roots_never_make_a_green_backup(tree: Path, repository: Repository) -> None:
    """2.6: an unmounted file system looks like an empty directory."""
    with pytest.raises(SourceMissingError):
        back_up_tree(repository, tree / "gone")
    back_up_tree(repository, tree)
    for path in (tree / "a", tree / "sub" / "b"):
        path.unlink()
    (tree / "sub").rmdir()
    with pytest.raises(SourceEmptyError, match="is empty"):
        back_up_tree(repository, tree)
    assert len(list_backups(repository)) == 1
    assert back_up_tree(repository, tree, accept_new_root=True).files == 0
    assert back_up_tree(repository, tree).files == 0


def test_an_empty_directory_is_a_fine_first_source(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "tree").mkdir()
    assert back_up_tree(repository, tmp_path / "tree").mode == "full"


def test_one_file_is_a_source(tree: Path, repository: Repository) -> None:
    result = back_up_tree(repository, tree / "a")
    assert (result.files, result.directories, result.bytes_read) == (1, 0, 5)
    assert list_backups(repository)[-1].root.top_entry is None
    assert back_up_tree(repository, tree / "a").bytes_read == 0


def test_one_unreadable_file_as_source_is_an_error(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: bytes, directory: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("repositories.engine.backup.content.open_regular", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        back_up_tree(repository, tree / "a")
    assert list_backups(repository) == []


def test_the_repositorys_own_parent_as_source(tmp_path: Path) -> None:
    """1.19: the repository does not back itself up."""
    repository = local_repository(tmp_path / "repository")
    (tmp_path / "file").write_bytes(b"x")
    skip = (os.fsencode(tmp_path / "repository"),)
    for _ in range(2):
        result = back_up_tree(repository, tmp_path, skip_paths=skip)
        assert (result.files, result.directories, result.notes) == (1, 0, 1)
    with pytest.raises(ConfigurationError, match="lies inside"):
        back_up_tree(repository, tmp_path / "repository", skip_paths=skip)


def test_cancel_leaves_nothing(tree: Path, repository: Repository) -> None:
    with pytest.raises(OperationCancelledError):
        back_up_tree(repository, tree, cancelled=lambda: True)
    assert list_backups(repository) == []


def test_confirm_forbids_the_commit(tree: Path, repository: Repository) -> None:
    def lost() -> None:
        raise LeaseLostError("no longer yours")

    with pytest.raises(LeaseLostError):
        back_up_tree(repository, tree, confirm=lost)
    assert list_backups(repository) == []
    assert back_up_tree(repository, tree).mode == "full"


class Bucket:
    """Stands in for the bandwidth bucket: remembers what reading took."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, count: int) -> None:
        self.taken += count


def test_reading_takes_from_the_bucket_after_it_has_read(tmp_path: Path, repository: Repository) -> None:
    """C7: the bucket sees every byte that was read."""
    build_everything(tmp_path / "tree")
    bucket = Bucket()
    assert back_up_tree(repository, tmp_path / "tree", read_bucket=bucket).bytes_read == bucket.taken > 0


def test_progress_is_reported(tree: Path, repository: Repository) -> None:
    seen: list[Progress] = []
    result = back_up_tree(repository, tree, report=seen.append)
    assert [progress.phase for progress in seen][-2:] == ["storing", "committed"]
    assert seen[-1].files == result.files


def test_times_are_of_the_clock_that_is_passed_in(tree: Path, repository: Repository) -> None:
    clock = LaterClock(ahead=1e9)
    result = back_up_tree(repository, tree, clock=clock)
    assert result.finished_ns >= result.started_ns > SYSTEM_CLOCK.now_ns() + 10**17


def test_bad_rules_are_refused_before_anything_is_read(tree: Path, repository: Repository) -> None:
    with pytest.raises(ConfigurationError, match="rule 2"):
        back_up_tree(repository, tree, excludes=("fine", "!"))


def test_problem_kinds_have_stable_names() -> None:
    assert ProblemKind("permission") is ProblemKind.PERMISSION
