"""Overwriting always, with deletion, gives the tree of the backup and nothing else, whatever was there (2.9, 2.13)."""

import os
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import assert_same, describe

ACL = bytes.fromhex("0200000001000700ffffffff02000500e803000004000500ffffffff10000500ffffffff20000500ffffffff")


def set_attributes(path: Path) -> None:
    try:
        os.setxattr(path, "user.foreign", b"f")
        os.setxattr(path, "system.posix_acl_default", ACL)
        os.setxattr(path, "system.posix_acl_access", ACL)
    except OSError:
        pytest.skip("no extended attributes here")


REMOVED: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "a file": ("file",),
    "a file below": ("directory/file",),
    "both": ("file", "directory/file"),
    "all": ("file", "directory/file", "directory"),
}


@pytest.mark.parametrize("what", [*REMOVED, "something strange instead"])
def test_attributes_that_the_backup_does_not_hold_go(what: str, tmp_path: Path, repository: Repository) -> None:
    """Of directories, too, in which something is made or removed meanwhile, and of an empty target."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    (tree / "directory").mkdir(parents=True)
    for name in ("file", "directory/file"):
        (tree / name).write_bytes(b"x")
    back_up_tree(repository, tree)
    assert restore_latest(repository, out).exit_code == 0
    for path in (out / "file", out / "directory" / "file"):
        os.setxattr(path, "user.foreign", b"f")
    for path in (out / "directory", out):
        set_attributes(path)
    for name in REMOVED.get(what, ()):
        (out / name).rmdir() if (out / name).is_dir() else (out / name).unlink()
    if what not in REMOVED:
        (out / "directory" / "strange").touch()
    result = restore_latest(repository, out, overwrite=Overwrite.ALWAYS, deletion=Deletion())
    assert (result.exit_code, result.warnings) == (0, {})
    assert_same(describe(tree), describe(out))
