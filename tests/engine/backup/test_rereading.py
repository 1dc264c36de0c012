"""Reading again part of what seems unchanged: rot and times set back are found, told and stored (engine.md, 3)."""

import errno
import mmap
import os
from pathlib import Path

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.backup.rereading import Rereading
from repositories.engine.manifest.problems import ProblemKind, Severity
from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree, entry_of, restore_latest
from tests.engine.trees import pattern


def kinds(result: BackupResult) -> list[tuple[ProblemKind, bytes]]:
    return [(problem.kind, problem.path) for problem in result.problems]


def backed_up_and_rotten(repository: Repository, path: Path, tree: Path) -> os.stat_result:
    """Back `tree` up between two writes through one mapping of `path`: the second one shows in no time."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0] = mapping[0]
        back_up_tree(repository, tree)
        before = os.stat(path)
        mapping[0] ^= 0xFF
    after = os.stat(path)
    if before.st_ctime_ns != after.st_ctime_ns:
        pytest.skip("this file system notes every write through a mapping")
    return after


def test_all_is_read_again_and_nothing_else_changes(tree: Path, repository: Repository) -> None:
    (tree / "large").write_bytes(pattern(3_000_000))
    with open(tree / "sparse", "wb") as file:
        file.truncate(8_000_000)
        file.seek(4_000_000)
        file.write(b"data")
    first = back_up_tree(repository, tree)
    second = back_up_tree(repository, tree, reread_percent=100)
    assert second.bytes_read == first.bytes_read > 3_000_000
    assert (second.new_chunks, second.warnings, kinds(second)) == (0, 0, [])
    assert (second.files, second.logical_bytes) == (first.files, first.logical_bytes)


@pytest.mark.parametrize("size", [5, 3_000_000])
def test_what_changed_behind_equal_times_is_told_and_stored(
    tree: Path, repository: Repository, tmp_path: Path, size: int
) -> None:
    """Without it the change is not seen at all; with it, it is a warning, and the backup holds what is there now."""
    (tree / "a").write_bytes(pattern(size))
    backed_up_and_rotten(repository, tree / "a", tree)
    blind = back_up_tree(repository, tree)
    assert (blind.bytes_read, kinds(blind)) == (0, [])
    seen = back_up_tree(repository, tree, reread_percent=100)
    assert kinds(seen) == [(ProblemKind.CONTENT_CHANGED, b"a")]
    assert (seen.warnings, seen.skipped, seen.problems[0].severity) == (1, 0, Severity.WARNING)
    assert "equal times" in seen.problems[0].detail
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "a").read_bytes() == (tree / "a").read_bytes() != pattern(size)
    assert kinds(back_up_tree(repository, tree, reread_percent=100)) == []


def test_forged_times_are_seen_where_ctime_is_ignored(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    before = (tree / "a").stat()
    (tree / "a").write_bytes(b"ALPHA")
    os.utime(tree / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert back_up_tree(repository, tree, ignore_ctime=True).bytes_read == 0
    found = back_up_tree(repository, tree, ignore_ctime=True, reread_percent=100)
    assert kinds(found) == [(ProblemKind.CONTENT_CHANGED, b"a")]


def test_all_names_of_a_file_get_what_was_read(tree: Path, repository: Repository) -> None:
    """Hard links are read once, and no name keeps the earlier content."""
    os.link(tree / "a", tree / "other name")
    backed_up_and_rotten(repository, tree / "a", tree)
    result = back_up_tree(repository, tree, reread_percent=100)
    assert [kind for kind, _ in kinds(result)] == [ProblemKind.CONTENT_CHANGED]
    assert entry_of(repository, b"a").extents == entry_of(repository, b"other name").extents
    size = (tree / "a").stat().st_size
    assert result.bytes_read == back_up_tree(repository, tree, reread_percent=100).bytes_read
    assert result.bytes_read < result.logical_bytes + size


def test_the_same_bytes_around_other_holes_are_no_change(tree: Path, repository: Repository) -> None:
    """Where a file system allocates later, or otherwise, a file is cut otherwise; its bytes decide."""
    content = bytes(2_000_000) + pattern(700_000) + bytes(1_000_000)
    (tree / "a").write_bytes(content)
    back_up_tree(repository, tree)
    before = (tree / "a").stat()
    with open(tree / "a", "wb") as file:
        file.seek(2_000_000)
        file.write(pattern(700_000))
        file.truncate(len(content))
    os.utime(tree / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (tree / "a").read_bytes() == content
    result = back_up_tree(repository, tree, ignore_ctime=True, reread_percent=100)
    assert kinds(result) == []
    assert result.bytes_read > 700_000


def test_what_can_no_longer_be_read_stays_as_it_was_backed_up(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A medium that fails must not take the good copy out of the next backup."""
    back_up_tree(repository, tree)
    real = os.read

    def failing(descriptor: int, count: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{descriptor}") == str(tree / "a"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, count)

    with monkeypatch.context() as patched:
        patched.setattr("repositories.engine.backup.content.os.read", failing)
        result = back_up_tree(repository, tree, reread_percent=100)
    assert kinds(result) == [(ProblemKind.NOT_READ_AGAIN, b"a")]
    assert (result.warnings, result.skipped) == (1, 0)
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "a").read_bytes() == (tree / "a").read_bytes()


def test_each_run_chooses_its_own_part() -> None:
    """About n of 100, the same within one run whoever asks, and over the runs every file has its turn."""
    paths = [b"d/%d" % number for number in range(2000)]

    def chosen(run: str, percent: int = 10) -> set[bytes]:
        rereading = Rereading(run, percent, None)  # type: ignore[arg-type]
        return {path for path in paths if rereading.wants(path, None)}

    assert chosen("one") == chosen("one") != chosen("two")
    assert 120 < len(chosen("one")) < 280
    assert not chosen("one", 0)
    assert chosen("one", 100) == set(paths)
    assert set().union(*(chosen(str(run)) for run in range(150))) == set(paths)
