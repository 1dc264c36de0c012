"""What a restore says of each object is true: kept, identical, differing; and where it must not write at all."""

import os
import stat
from pathlib import Path

import pytest

from repositories.engine.errors import RestoreTargetError
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult
from repositories.engine.storage.locations import directories_of
from tests.engine.repositories import back_up_tree, local_repository, make_repository, restore_latest
from tests.engine.trees import change
from tests.engine.users import as_ordinary_user

WHEN = 10**18
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name in ("a", "b", "c/d"):
        (tree / name).mkdir(parents=True)
    for name in ("a/x", "b/y", "c/d/z", "file"):
        change(tree / name, b"backup", WHEN)
    return tree


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


def test_all_below_several_kept_files_is_kept_and_nothing_is_called_damaged(
    tmp_path: Path, repository: Repository
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a", "b"):
        (out / name).write_bytes(b"a plain file")
    result = restore_latest(repository, out)
    assert (result.exit_code, result.damaged_paths) == (3, [])
    assert sorted(result.kept_paths) == [b"a", b"a/x", b"b", b"b/y"]
    assert (out / "c" / "d" / "z").read_bytes() == b"backup"


def test_equal_size_and_time_are_told_to_be_all_that_was_looked_at(tmp_path: Path, repository: Repository) -> None:
    restore_latest(repository, tmp_path / "out")
    change(tmp_path / "out" / "file", b"EDITED", WHEN)
    result = restore_latest(repository, tmp_path / "out", overwrite=Overwrite.IF_CHANGED)
    assert (result.exit_code, result.not_compared, result.files) == (0, 4, 0)
    assert (tmp_path / "out" / "file").read_bytes() == b"EDITED"
    assert restore_latest(repository, tmp_path / "out").not_compared == 0


def test_with_verification_a_file_of_equal_size_and_time_is_compared_and_written_again(
    tmp_path: Path, repository: Repository
) -> None:
    restore_latest(repository, tmp_path / "out")
    change(tmp_path / "out" / "file", b"EDITED", WHEN)
    result = restore_latest(repository, tmp_path / "out", overwrite=Overwrite.IF_CHANGED, verify=True)
    assert (result.exit_code, result.files, result.not_compared, result.verified_files) == (0, 1, 0, 4)
    assert (tmp_path / "out" / "file").read_bytes() == b"backup"


def test_an_older_overwrite_rule_keeps_what_verification_finds_to_differ(
    tmp_path: Path, repository: Repository
) -> None:
    restore_latest(repository, tmp_path / "out")
    change(tmp_path / "out" / "file", b"EDITED", WHEN)
    result = restore_latest(repository, tmp_path / "out", overwrite=Overwrite.IF_NEWER, verify=True)
    assert (result.exit_code, result.kept_paths, result.damaged) == (3, [b"file"], 0)


@pytest.mark.parametrize("below", ["", "packs", "new/deeper", "../link", "../link/tmp/x"])
def test_a_target_in_the_repository_is_refused_before_anything_is_made(tmp_path: Path, tree: Path, below: str) -> None:
    repository = local_repository(tmp_path / "repo")
    back_up_tree(repository, tree)
    (tmp_path / "link").symlink_to("repo")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RestoreTargetError, match="is the repository or lies in it"):
        restore_latest(repository, tmp_path / "repo" / below, keep_out=directories_of(repository.storage))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_target_that_holds_the_repository_is_allowed(tmp_path: Path, tree: Path) -> None:
    repository = local_repository(tmp_path / "place" / "repo")
    back_up_tree(repository, tree)
    result = restore_latest(repository, tmp_path / "place", keep_out=directories_of(repository.storage))
    assert (result.exit_code, result.files) == (0, 4)


@pytest.mark.skipif(not IS_ROOT, reason="owners other than oneself need root")
def test_a_second_run_tells_again_what_an_ordinary_user_cannot_set(
    tmp_path: Path, repository: Repository, tree: Path
) -> None:
    (tree / "file").chmod(0o4755)
    os.setxattr(tree / "file", "trusted.mark", b"1")
    (tree / "closed").write_bytes(b"closed")
    (tree / "closed").chmod(0)
    os.mknod(tree / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    back_up_tree(repository, tree)
    (tmp_path / "home").mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[RestoreResult, RestoreResult]:
        home = tmp_path / "home" / "out"
        return restore_latest(repository, home, verify=True), restore_latest(repository, home, verify=True)

    first, second = as_ordinary_user(run, tmp_path / "home")
    assert set(first.warnings) == set(second.warnings) == {"owner", "special_bits", "xattr_trusted"}
    assert (first.warnings["special_bits"], second.warnings["special_bits"]) == (1, 1)
    assert (first.unverified, second.unverified, second.existing >= 5) == (1, 1, True)
    assert [path for path, _ in first.failed_paths] == [path for path, _ in second.failed_paths] == [b"null"]
