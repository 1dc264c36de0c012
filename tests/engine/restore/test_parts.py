"""Restores of part of a backup: the paths that were asked for, and the directories above them."""

import os
import stat
from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.repository import Repository
from repositories.engine.restore.selection import read_selected
from tests.engine.manifest.far_chunks import FarAwayChunks
from tests.engine.manifest.test_pages import big_tree, write
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import Description, assert_same, describe


@pytest.mark.parametrize("how", ["relative", "absolute", "with slashes"])
def test_a_part_comes_with_the_directories_above_it(
    how: str, tmp_path: Path, repository: Repository, everything: Description
) -> None:
    path = {
        "relative": b"later/hard b",
        "absolute": os.fsencode(tmp_path / "tree/later/hard b"),
        "with slashes": b"./later//hard b/",
    }
    result = restore_latest(repository, tmp_path / "out", paths=(path[how],))
    found = describe(tmp_path / "out")
    assert sorted(found) == [b".", b"later", b"later/hard b"]
    assert found[b"later"] == everything[b"later"]
    assert found[b"."] == everything[b"."]
    assert found[b"later/hard b"]["content"] == everything[b"hard a"]["content"]
    assert (result.files, result.directories) == (1, 1)


def test_whole_subtrees_and_single_files_at_once(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    wanted = (b"modes", b"modes/d777", b"links/1", b"small", b"times/0")
    restore_latest(repository, tmp_path / "out", paths=wanted)
    found = describe(tmp_path / "out")
    expected = {
        path: facts
        for path, facts in everything.items()
        if path in (b".", b"links", b"times", *wanted) or path.startswith(b"modes/")
    }
    assert_same(expected, found)


def test_directories_above_that_were_there_stay_as_they_are(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    (tmp_path / "out" / "links").mkdir(parents=True)
    (tmp_path / "out" / "links").chmod(0o711)
    (tmp_path / "out").chmod(0o750)
    restore_latest(repository, tmp_path / "out", paths=(b"links/1",))
    assert stat.S_IMODE((tmp_path / "out" / "links").stat().st_mode) == 0o711
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o750


def test_paths_that_are_not_in_the_backup_are_told_before_anything_is_made(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    for path in (b"nowhere", b"small/below", b"links/1/x", b"modes/nothing/deep"):
        with pytest.raises(ConfigurationError, match="not in the backup"):
            restore_latest(repository, tmp_path / "out", paths=(path,))
    with pytest.raises(ConfigurationError, match="no path within"):
        restore_latest(repository, tmp_path / "out", paths=(b"../etc",))
    assert not (tmp_path / "out").exists()


def test_one_file_as_source_lands_in_the_target(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "file").write_bytes(b"only")
    back_up_tree(repository, tmp_path / "file")
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "file").read_bytes() == b"only"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_slash_as_source_and_back(tmp_path: Path, repository: Repository) -> None:
    """1.19: `/` is a source like any other; everything but one directory is excluded to keep this short."""
    wanted = tmp_path / "wanted"
    wanted.mkdir()
    (wanted / "file").write_bytes(b"f")
    rules: list[str] = []
    for part in [*reversed(wanted.parents), wanted][1:]:
        rules += [f"{part.parent.as_posix().rstrip('/')}/*", f"!{part.as_posix()}"]
    result = back_up_tree(repository, b"/", excludes=tuple(rules))
    assert (result.files, result.directories, result.skipped) == (1, len(wanted.parts) - 1, 0)
    restore_latest(repository, tmp_path / "out", paths=(os.fsencode(wanted),))
    below = tmp_path / "out" / wanted.relative_to("/")
    assert_same(describe(wanted), describe(below))


def test_far_away_the_pages_of_all_wanted_parts_are_announced_and_no_others() -> None:
    """4.7: what comes next was announced in restores of whole backups alone."""
    chunks = FarAwayChunks()
    top = write(chunks, big_tree(60, 500))
    paths = (b"d0003", b"d0004", b"d0020/f00007", b"d0044")
    found = list(read_selected(chunks, top, paths, lambda first, count: None))  # type: ignore[arg-type]
    assert sum(len(part.entries) for part in found if not part.partial) == 3 * 500
    assert {entry.name for part in found if part.partial for entry, _ in part.entries} == {
        *(b"d0003", b"d0004", b"d0020", b"d0044", b"f00007")
    }
    assert chunks.surprises == []
    assert set(chunks.announced) == set(chunks.reads), "nothing was fetched in vain"
