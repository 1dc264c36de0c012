"""Restores that bring back everything, bit for bit."""

import os
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import Repository
from repositories.engine.restore import RestoreRequest, RestoreResult, restore
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import assert_same, build_everything, describe


def restore_latest(repository: Repository, target: Path, **options: object) -> RestoreResult:
    backup = list_backups(repository)[-1]
    return restore(repository, backup, RestoreRequest(os.fsencode(target), **options), Hooks())  # type: ignore[arg-type]


def test_everything_comes_back_bit_for_bit(tmp_path: Path) -> None:
    """engine.md 1.7, A17: names, content, types, modes, owners, times, links, attributes."""
    build_everything(tmp_path / "tree")
    before = describe(tmp_path / "tree")
    repository = make_repository()
    back_up_tree(repository, tmp_path / "tree")
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert_same(before, describe(tmp_path / "out"))
    assert (result.exit_code, result.warnings, result.kept, result.existing) == (0, {}, 0, 0)
