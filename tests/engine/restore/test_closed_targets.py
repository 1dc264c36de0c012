"""Targets that resist: closed to their owner, or immutable. Told with the reason, and left as they were."""

import errno
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.errors import RestoreTargetError
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import assert_same, change, describe
from tests.engine.users import as_ordinary_user


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree whose directories have other modes than the target's below."""
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    for name in ("a/b/file", "a/file", "file"):
        (tree / name).write_bytes(name.encode())
    (tree / "a" / "b" / "link").symlink_to("file")
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    return tree


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


def modes(out: Path) -> list[int]:
    """Return the modes of the target, a and a/b, and open them up."""
    found = []
    for path in (out, out / "a", out / "a" / "b"):
        found.append(stat.S_IMODE(path.lstat().st_mode))
        path.chmod(0o700)
    return found


def closed_target(out: Path) -> None:
    (out / "a" / "b").mkdir(parents=True)
    (out / "a" / "file").write_bytes(b"other")
    (out / "a" / "file").chmod(0o400)
    (out / "a" / "b").chmod(0o311)
    (out / "a").chmod(0o500)
    out.chmod(0o511)


@pytest.mark.parametrize("overwrite", Overwrite)
@pytest.mark.parametrize("part", [False, True])
def test_closed_directories_are_opened_up_for_a_while(
    overwrite: Overwrite, part: bool, tmp_path: Path, tree: Path, repository: Repository
) -> None:
    """3e, 59: put back as they were, but where overwriting gives them the backup's attributes."""
    out = tmp_path / "work" / "out"
    out.parent.mkdir()

    def run() -> tuple[RestoreResult, list[int]]:
        closed_target(out)
        paths = (b"a/b", b"a/file") if part else ()
        return restore_latest(repository, out, overwrite=overwrite, paths=paths, verify=True), modes(out)

    result, found = as_ordinary_user(run, out.parent)
    assert result.failed == 0
    assert (out / "a" / "b" / "file").read_bytes() == b"a/b/file"
    replaced = overwrite in (Overwrite.ALWAYS, Overwrite.IF_CHANGED)
    assert (out / "a" / "file").read_bytes() == (b"a/file" if replaced else b"other")
    above = [0o511, 0o500] if part or overwrite is Overwrite.NEVER else [0o755, 0o755]
    assert found == [*above, 0o311 if overwrite is Overwrite.NEVER else 0o755]


def test_a_restore_that_breaks_off_puts_modes_back_too(
    tmp_path: Path, tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "work" / "out"
    out.parent.mkdir()

    def run() -> list[int]:
        closed_target(out)
        monkeypatch.setattr("repositories.engine.restore.writing.os.pwrite", full)
        with pytest.raises(RestoreTargetError, match="No space left"):
            restore_latest(repository, out)
        return modes(out)

    assert as_ordinary_user(run, out.parent) == [0o511, 0o500, 0o311]


def test_directories_above_a_part_that_we_made_get_their_attributes(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    """3e, 61: also when the way begins with directories of somebody else's."""
    os.utime(tree / "a" / "b", ns=(5, 5))
    (tree / "a" / "b").chmod(0o750)
    (tree / "a").chmod(0o710)
    back_up_tree(repository, tree)
    out = tmp_path / "out"
    (out / "a").mkdir(parents=True)
    before = (out / "a").stat().st_mode, out.stat().st_mode
    for overwrite in Overwrite:
        restore_latest(repository, out, overwrite=overwrite, paths=(b"a/b/file",))
        assert (stat.S_IMODE((out / "a" / "b").stat().st_mode), (out / "a" / "b").stat().st_mtime_ns) == (0o750, 5)
        assert ((out / "a").stat().st_mode, out.stat().st_mode) == before
        (out / "a" / "b" / "file").unlink()
        (out / "a" / "b").rmdir()


def test_an_empty_target_of_somebody_else_stays_as_it_is_when_a_part_is_restored(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o751)
    out.chmod(0o751)
    restore_latest(repository, out, paths=(b"a",), overwrite=Overwrite.ALWAYS)
    assert stat.S_IMODE(out.stat().st_mode) == 0o751


def chattr(flag: str, path: Path) -> None:
    try:
        subprocess.run(["chattr", flag, path], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be made immutable here")


@pytest.mark.parametrize(
    ("name", "flag", "failed"),
    [
        ("file", "i", {b"file": "it is immutable"}),
        ("file", "a", {b"file": "it is append-only"}),
        ("a/b", "i", {b"a/b/file": "its directory is immutable", b"a/b/link": "its directory is immutable"}),
    ],
)
def test_immutable_objects(
    name: str, flag: str, failed: dict[bytes, str], tmp_path: Path, tree: Path, repository: Repository
) -> None:
    out = tmp_path / "out"
    (out / "a" / "b").mkdir(parents=True)
    change(out / "file", b"other", 1)
    chattr(f"+{flag}", out / name)
    try:
        result = restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    finally:
        chattr(f"-{flag}", out / name)
    assert {path: reason.split(" (")[0] for path, reason in result.failed_paths} == failed
    assert result.exit_code == 3
    assert (out / "a" / "file").read_bytes() == b"a/file"
    assert not [path for path in out.rglob("*") if path.name.startswith(".syncova")]
    assert restore_latest(repository, out, overwrite=Overwrite.ALWAYS).exit_code == 0
    assert_same(describe(tree), describe(out))


def full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
