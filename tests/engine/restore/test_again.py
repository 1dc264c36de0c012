"""A restore that broke off, was killed or was cancelled is just run again, and is closed to others until it is done."""

import errno
import os
import stat
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import OperationCancelledError, RestoreTargetError
from repositories.engine.repository import Repository
from tests.engine.repositories import restore_latest
from tests.engine.trees import Description, assert_same, describe


def test_a_second_restore_finds_everything_identical(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    first = restore_latest(repository, tmp_path / "out")
    again = restore_latest(repository, tmp_path / "out")
    assert again.exit_code == 0
    assert (again.files, again.bytes_written, again.kept) == (0, 0, 0)
    assert again.existing == first.files + first.directories + first.links + first.others
    assert_same(everything, describe(tmp_path / "out"))


class Breaks:
    """Lets a number of writes through, then fails all."""

    def __init__(self, writes: int) -> None:
        self.left = writes
        self.real = os.pwrite

    def __call__(self, descriptor: int, data: memoryview, position: int) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.real(descriptor, data, position)


@pytest.mark.parametrize("writes", [0, 1, 7, 30])
def test_a_broken_off_restore_is_just_run_again(
    writes: int, tmp_path: Path, repository: Repository, everything: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engine.md 7: what is identical counts as restored, what is half done is done again."""
    with monkeypatch.context() as patched:
        patched.setattr("repositories.engine.restore.writing.os.pwrite", Breaks(writes))
        with pytest.raises(RestoreTargetError, match="No space"):
            restore_latest(repository, tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o777 == 0o700
    result = restore_latest(repository, tmp_path / "out")
    assert result.exit_code == 0
    assert_same(everything, describe(tmp_path / "out"))


def test_a_killed_restore_is_just_run_again(tmp_path: Path, repository: Repository, everything: Description) -> None:
    """A kill leaves half a file under its own name: the mark in its mode tells it from one of the user's."""
    child = os.fork()
    if child == 0:
        count = 0

        def stop(taken: int) -> None:
            nonlocal count
            count += 1
            if count > 20:
                os._exit(9)

        class Bucket:
            take = staticmethod(stop)

        restore_latest(repository, tmp_path / "out", hooks=Hooks(read_bucket=Bucket()))  # type: ignore[arg-type]
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert restore_latest(repository, tmp_path / "out").exit_code == 0
    assert_same(everything, describe(tmp_path / "out"))


def test_cancel_stops_and_another_run_goes_on(tmp_path: Path, repository: Repository, everything: Description) -> None:
    with pytest.raises(OperationCancelledError):
        restore_latest(repository, tmp_path / "out", hooks=Hooks(cancelled=lambda: True))
    restore_latest(repository, tmp_path / "out")
    assert_same(everything, describe(tmp_path / "out"))


def test_a_fresh_target_is_closed_to_others_until_it_is_done(
    tmp_path: Path, repository: Repository, everything: Description
) -> None:
    modes: set[int] = set()

    class Bucket:
        def take(self, count: int) -> None:
            for directory in [tmp_path / "out", *(path for path in (tmp_path / "out").iterdir() if path.is_dir())]:
                modes.add(stat.S_IMODE(directory.lstat().st_mode) & 0o077)

    (tmp_path / "out").mkdir(mode=0o777)
    restore_latest(repository, tmp_path / "out", hooks=Hooks(read_bucket=Bucket()))  # type: ignore[arg-type]
    assert modes == {0}
    assert_same(everything, describe(tmp_path / "out"))
