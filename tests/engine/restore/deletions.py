"""A small tree, its backup, and a restored copy with something of somebody else's in every directory."""

import os
from pathlib import Path

from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, DeletionResult, Overwrite
from tests.engine.repositories import plan_latest, restore_latest

CHANGED = Overwrite.IF_CHANGED


def deleting(repository: Repository, out: Path, **changes: object) -> DeletionResult:
    """Restore and delete; return what was deleted, which must be what a plan foretold."""
    options: dict[str, object] = {"overwrite": CHANGED, "deletion": Deletion(), **changes}
    planned = plan_latest(repository, out, **options).deletion  # type: ignore[arg-type]
    result = restore_latest(repository, out, **options)  # type: ignore[arg-type]
    assert result.deletion is not None
    assert planned == result.deletion
    return result.deletion


def build_tree(tree: Path) -> Path:
    """Make a tree with an empty directory and files in the others."""
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "empty").mkdir()
    (tree / "other").mkdir()
    for name in ("a/b/file", "a/file", "other/file", "file"):
        (tree / name).write_bytes(name.encode())
    for path in (*tree.rglob("*"), tree):
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    return tree


def restore_and_add(repository: Repository, out: Path) -> Path:
    """Restore the newest backup; put a file and a directory of somebody else's into every directory."""
    restore_latest(repository, out)
    for directory in (out, out / "a", out / "a" / "b", out / "empty", out / "other"):
        (directory / "extra").write_bytes(b"extra")
        (directory / "more" / "deep").mkdir(parents=True)
        (directory / "more" / "deep" / "x").write_bytes(b"x")
    return out
