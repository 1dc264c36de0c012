"""A target that takes no more: the error names it and the next step, and with room made the restore goes on."""

import ctypes
import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.errors import RestoreTargetError
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, Description, assert_same, describe, pattern
from tests.engine.users import as_ordinary_user, in_a_child


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *((call, errno.ENOSPC) for call in ("mkdir", "open", "symlink", "mkfifo", "link", "rename", "ftruncate")),
        ("pwrite", errno.ENOSPC),
        ("pwrite", errno.EDQUOT),
        ("close", errno.EDQUOT),
    ],
)
def test_a_full_target_at_any_call(
    call: str, number: int, tmp_path: Path, repository: Repository, everything: Description
) -> None:
    """2.9: the error names the target and what to do; then it is just run again."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "small").write_bytes(b"other")
    (out / "empty directory").mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, call, Filling(getattr(os, call), call, number))
        with pytest.raises(RestoreTargetError) as caught:
            restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert str(out) in caught.value.message
    assert os.strerror(number) in caught.value.message
    assert "run the restore again" in caught.value.hint
    assert restore_latest(repository, out, overwrite=Overwrite.ALWAYS).exit_code == 0
    assert_same(everything, describe(out))


class Filling:
    """Lets a few calls that write through, then says that the target is full."""

    def __init__(self, call: Callable[..., Any], name: str, number: int) -> None:
        self.call = call
        self.name = name
        self.number = number
        self.left = 0 if name in ("ftruncate", "mkfifo", "rename", "link") else 3

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.writes(*arguments):
            self.left -= 1
            if self.left < 0:
                if self.name == "close":
                    self.call(*arguments)
                raise OSError(self.number, os.strerror(self.number))
        return self.call(*arguments, **options)

    def writes(self, *arguments: Any) -> bool:
        if self.name == "open":
            return bool(arguments[1] & os.O_CREAT)
        if self.name == "close":
            return stat.S_ISREG(os.fstat(arguments[0]).st_mode) and os.get_blocking(arguments[0])
        return True


@pytest.mark.skipif(not IS_ROOT, reason="mounting needs root")
@pytest.mark.parametrize("limit", ["size=3m", "nr_inodes=40"])
@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_a_file_system_that_is_full(limit: str, user: str, tmp_path: Path) -> None:
    """As it is, with no call replaced; with room made, the restore goes on where it stopped."""
    tree = tmp_path / "tree"
    for number in range(20):
        (tree / f"{number}").mkdir(parents=True)
        (tree / f"{number}" / "file").write_bytes(pattern(300_000, number))
        (tree / f"{number}" / "link").symlink_to("file")
    repository = make_repository()
    back_up_tree(repository, tree)
    before = describe(tree)
    (tmp_path / "mounted").mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    point = tmp_path / "mounted"

    def restore() -> tuple[str, RestoreResult | None, Description]:
        try:
            return "", restore_latest(repository, point / "out"), describe(point / "out")
        except RestoreTargetError as error:
            return error.message, None, {}

    def run() -> None:
        assert ctypes.CDLL(None).unshare(0x00020000) == 0
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "tmpfs", "-t", "tmpfs", "-o", f"{limit},mode=777", point], check=True)
        call = restore if user == "root" else lambda: as_ordinary_user(restore)
        message, result, _ = call()
        assert result is None
        assert f"{point}/out takes no more: No space left" in message
        assert "restored so far" in message
        subprocess.run(["mount", "-o", "remount,size=30m,nr_inodes=1000", point], check=True)
        _, result, found = call()
        assert result is not None
        assert result.exit_code == 0
        assert result.existing > 0
        assert_same(before, found, ("uid", "gid") if user == "ordinary" else ())

    in_a_child(run)
