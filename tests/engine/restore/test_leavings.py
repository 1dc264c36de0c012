"""What a killed restore left under temporary names is removed by the next one, and nothing else is."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult, publishing
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, assert_same, change, describe
from tests.engine.users import ORDINARY, as_ordinary_user

OURS = ".syncova-0123456789abcdef-01234567.part"
OLDER = ".syncova-0123456789abcdef.part"
NOT_OURS = (".syncova-x.part", ".syncova-0123456789ABCDEF-01234567.part", OURS + "~", "x" + OURS)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "directory").mkdir(parents=True)
    (tree / "empty").mkdir()
    for name in ("file", "directory/inside", "directory/" + "n" * 255):
        (tree / name).write_bytes(name.encode())
    return tree


@pytest.fixture
def repository(tree: Path) -> Repository:
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository


def leave(directory: Path) -> None:
    """Leave what a kill may leave, of every kind."""
    (directory / OURS).write_bytes(b"half")
    (directory / OLDER).symlink_to("nowhere")
    os.mkfifo(directory / OURS.replace("01234567.", "fefefefe."))
    (directory / OURS.replace("01234567.", "aaaaaaaa.")).mkdir()
    os.link(directory / OURS, directory / OURS.replace("01234567.", "bbbbbbbb."))


@pytest.mark.parametrize("overwrite", Overwrite)
def test_leavings_go_whatever_is_restored_next(
    overwrite: Overwrite, tmp_path: Path, tree: Path, repository: Repository
) -> None:
    """2.9: also those of names that this backup does not hold, and in directories that are empty in it."""
    out = tmp_path / "out"
    restore_latest(repository, out)
    for directory in (out, out / "directory", out / "empty"):
        leave(directory)
        for path, held in ((directory, tree / directory.relative_to(out)),):
            os.utime(path, ns=(held.stat().st_mtime_ns,) * 2)
    result = restore_latest(repository, out, overwrite=overwrite)
    assert (result.exit_code, result.kept) == (0, 0)
    assert_same(describe(tree), describe(out))


def test_what_only_looks_like_leavings_stays(tmp_path: Path, repository: Repository) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in NOT_OURS:
        (out / name).write_bytes(b"mine")
    (out / OURS).mkdir()
    (out / OURS / "precious").write_bytes(b"p")
    assert restore_latest(repository, out).exit_code == 0
    assert {name for name in os.listdir(out) if "syncova" in name} == {*NOT_OURS, OURS}
    assert (out / OURS / "precious").read_bytes() == b"p"


def test_leavings_that_the_backup_holds_are_restored(tmp_path: Path, tree: Path, repository: Repository) -> None:
    for name in (OURS, "directory/" + OLDER):
        (tree / name).write_bytes(b"backed up after a kill")
    back_up_tree(repository, tree)
    for _ in range(2):
        assert restore_latest(repository, tmp_path / "out").exit_code == 0
        assert_same(describe(tree), describe(tmp_path / "out"))


def test_on_the_way_to_a_part_only_its_own_leavings_go(tmp_path: Path, repository: Repository) -> None:
    out = tmp_path / "out"
    (out / "directory").mkdir(parents=True)
    own = os.fsdecode(publishing.temporary_name(b"inside", b"01234567"))
    for name in (own, OURS):
        (out / "directory" / name).write_bytes(b"half")
    assert restore_latest(repository, out, paths=(b"directory/inside",)).exit_code == 0
    assert sorted(os.listdir(out / "directory")) == [OURS, "inside"]


def test_what_another_restore_is_making_stays(tmp_path: Path, repository: Repository) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / OURS).write_bytes(b"half")
    other = os.open(out, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)
    assert restore_latest(repository, out).exit_code == 0
    assert (out / OURS).exists()
    os.close(other)
    restore_latest(repository, out)
    assert not (out / OURS).exists()


def test_leavings_make_room_before_anything_is_written(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.8: on a medium that a kill left full."""
    out = tmp_path / "out"
    out.mkdir()
    (out / OURS).write_bytes(b"half")
    real = os.pwrite

    def full(descriptor: int, data: bytes, position: int) -> int:
        if (out / OURS).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data, position)

    monkeypatch.setattr("repositories.engine.restore.writing.os.pwrite", full)
    assert restore_latest(repository, out).exit_code == 0


@pytest.mark.skipif(not IS_ROOT, reason="owners other than oneself need root")
def test_an_ordinary_user_removes_only_what_is_his(tmp_path: Path, repository: Repository) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | 0o001)
    os.chown(out, ORDINARY, ORDINARY)
    (out / OURS).write_bytes(b"root's")

    def run() -> RestoreResult:
        (out / OLDER).write_bytes(b"half")
        return restore_latest(repository, out)

    assert as_ordinary_user(run).exit_code == 0
    assert (out / OURS).exists()
    assert not (out / OLDER).exists()


@pytest.mark.parametrize("renames", [True, False])
def test_what_appears_meanwhile_is_not_overwritten(
    renames: bool, tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.9: neither where the system can rename to a free name only, nor where it cannot."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_bytes(b"m")
    if not renames:
        monkeypatch.setattr(publishing, "_renameat2", lambda: None)
    assert restore_latest(repository, out, paths=(b"directory",)).exit_code == 0
    real = publishing.publish

    def publish(directory: int, temporary: bytes, name: bytes) -> None:
        if name == b"file":
            (out / "file").write_bytes(b"the user's, a moment ago")
        real(directory, temporary, name)

    monkeypatch.setattr("repositories.engine.restore.writing.publish", publish)
    result = restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert [(path, reason) for path, reason in result.failed_paths] == [(b"file", os.strerror(errno.EEXIST))]
    assert (out / "file").read_bytes() == b"the user's, a moment ago"
    assert not [name for name in os.listdir(out) if "syncova" in name]


def test_the_longest_names_are_replaced_too(tmp_path: Path, tree: Path, repository: Repository) -> None:
    out = tmp_path / "out"
    restore_latest(repository, out)
    change(out / "directory" / ("n" * 255), b"other", 1)
    assert restore_latest(repository, out, overwrite=Overwrite.IF_CHANGED).exit_code == 0
    assert_same(describe(tree), describe(out))
