"""Directories that were there before a restore: kept and named when they differ, and nobody's mode is a mark."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult
from tests.engine.repositories import back_up_tree, make_repository, plan_latest, restore_latest
from tests.engine.trees import IS_ROOT, assert_same, change, describe
from tests.engine.users import as_ordinary_user

ACL = bytes.fromhex("0200000001000700ffffffff02000500e803000004000500ffffffff10000500ffffffff20000500ffffffff")
WHEN = 10**18


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "directory" / "below").mkdir(parents=True)
    for name in ("directory/file", "directory/below/file"):
        change(tree / name, name.encode(), WHEN)
    try:
        os.setxattr(tree / "directory", "user.mark", b"1")
        os.setxattr(tree / "directory" / "file", "user.mark", b"1")
    except OSError:
        pytest.skip("no extended attributes here")
    for path in (tree / "directory" / "below", tree / "directory", tree):
        path.chmod(0o755)
        os.utime(path, ns=(WHEN, WHEN))
    return tree


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


@pytest.fixture
def out(tmp_path: Path, repository: Repository) -> Path:
    assert restore_latest(repository, tmp_path / "out").exit_code == 0
    return tmp_path / "out"


CHANGES: dict[str, Callable[[Path], object]] = {
    "mode": lambda path: path.chmod(0o711),
    "mode like a mark of old": lambda path: path.chmod(0o1700),
    "time": lambda path: os.utime(path, ns=(7, 7)),
    "other value": lambda path: os.setxattr(path, "user.mark", b"2"),
    "attribute more": lambda path: os.setxattr(path, "user.more", b""),
    "attribute less": lambda path: os.removexattr(path, "user.mark"),
    "acl": lambda path: os.setxattr(path, "system.posix_acl_access", ACL),
}
if IS_ROOT:
    CHANGES["owner"] = lambda path: os.chown(path, 12345, -1)
ONLY_DIRECTORIES = {"default acl": lambda path: os.setxattr(path, "system.posix_acl_default", ACL)}


@pytest.mark.parametrize("what", [*CHANGES, *ONLY_DIRECTORIES])
@pytest.mark.parametrize("name", ["directory", "directory/file"])
def test_what_differs_is_kept_and_named(what: str, name: str, out: Path, tree: Path, repository: Repository) -> None:
    """2.9: a directory as well as a file; the plan says so before. Overwriting makes it the backup's again."""
    if what in ONLY_DIRECTORIES and name != "directory":
        pytest.skip("a file has none")
    {**CHANGES, **ONLY_DIRECTORIES}[what](out / name)
    before = describe(out)
    assert plan_latest(repository, out).kept_paths == [os.fsencode(name)]
    result = restore_latest(repository, out)
    assert (result.exit_code, result.kept_paths) == (3, [os.fsencode(name)])
    assert (result.existing, result.files) == (3, 0)
    assert describe(out) == before
    assert restore_latest(repository, out, overwrite=Overwrite.IF_CHANGED).exit_code == 0
    assert_same(describe(tree), describe(out))


def test_what_is_missing_comes_back_with_its_directorys_time(out: Path, tree: Path, repository: Repository) -> None:
    """Taking a file away changed the directory's time, and bringing it back would, too: it is the backup's then."""
    (out / "directory" / "below" / "file").unlink()
    plan = plan_latest(repository, out)
    assert (plan.created, plan.existing, plan.kept) == (1, 3, 0)
    result = restore_latest(repository, out)
    assert (result.exit_code, result.files, result.existing, result.kept) == (0, 1, 3, 0)
    assert_same(describe(tree), describe(out))


def test_a_directory_that_differs_takes_what_is_missing(out: Path, repository: Repository) -> None:
    (out / "directory" / "file").unlink()
    (out / "directory").chmod(0o711)
    result = restore_latest(repository, out)
    assert (result.kept_paths, result.files) == ([b"directory"], 1)
    assert stat.S_IMODE((out / "directory").stat().st_mode) == 0o711
    assert (out / "directory").stat().st_mtime_ns != WHEN


def test_the_target_itself_is_kept_and_named_but_for_its_time(out: Path, repository: Repository) -> None:
    (out / "mine").write_bytes(b"m")
    assert restore_latest(repository, out).exit_code == plan_latest(repository, out).kept == 0
    out.chmod(0o711)
    assert plan_latest(repository, out).kept_paths == [b""]
    result = restore_latest(repository, out)
    assert (result.exit_code, result.kept_paths) == (3, [b""])
    assert stat.S_IMODE(out.stat().st_mode) == 0o711
    assert restore_latest(repository, out, paths=(b"directory",)).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o711
    assert restore_latest(repository, out, overwrite=Overwrite.ALWAYS).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o755


@pytest.mark.parametrize("user", ["root", "ordinary"])
@pytest.mark.parametrize("mode", [0o1600, 0o600, 0o6600, 0o7700])
def test_a_file_of_the_users_stays_whatever_its_mode(
    mode: int, user: str, tmp_path: Path, repository: Repository
) -> None:
    """2.9: what a restore has not finished is known by the directory that it made, and by no mode alone."""
    if user == "root" and not IS_ROOT:
        pytest.skip("needs root")
    out = tmp_path / "work" / "out"
    (out / "directory").mkdir(parents=True)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> list[tuple[RestoreResult, bytes, int]]:
        found = []
        for directory_mode in (0o1700, 0o700, 0o755):
            (out / "directory" / "file").write_bytes(b"precious")
            (out / "directory" / "file").chmod(mode)
            (out / "directory").chmod(directory_mode)
            result = restore_latest(repository, out)
            status = (out / "directory" / "file").stat()
            found.append((result, (out / "directory" / "file").read_bytes(), stat.S_IMODE(status.st_mode)))
            assert stat.S_IMODE((out / "directory").stat().st_mode) == directory_mode
        return found

    found = run() if user == "root" else as_ordinary_user(run, out.parent)
    for result, content, kept in found:
        assert (result.exit_code, content, kept) == (3, b"precious", mode)
        assert b"directory/file" in result.kept_paths
