"""What a restore tells while it runs, and when the target takes no more."""

import errno
import os
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import RestoreTargetError
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import pattern


class HurriedClock:
    """A second goes by at each look."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ns(self) -> int:
        return int(self.seconds * 1e9)

    def monotonic(self) -> float:
        self.seconds += 1
        return self.seconds


@pytest.fixture
def tree(tmp_path: Path, repository: Repository) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a large file").write_bytes(pattern(9_000_000))
    back_up_tree(repository, tree)
    return tree


@pytest.mark.usefixtures("tree")
def test_bytes_are_counted_while_a_large_file_is_being_written(tmp_path: Path, repository: Repository) -> None:
    told: list[Progress] = []
    restore_latest(repository, tmp_path / "out", hooks=Hooks(report=told.append, clock=HurriedClock()))
    halfway = [each for each in told if each.files == 0 and 0 < each.bytes_read < 9_000_000]
    assert halfway
    assert (told[-1].files, told[-1].bytes_read) == (1, 9_000_000)


def test_a_full_target_is_named_with_what_was_done(
    tmp_path: Path, repository: Repository, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "a file before").write_bytes(b"small")
    back_up_tree(repository, tree)

    def full(descriptor: int, data: bytes | memoryview, position: int) -> int:
        if len(data) > 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    monkeypatch.setattr("repositories.engine.restore.writing.os.pwrite", full)
    with pytest.raises(
        RestoreTargetError, match=r"target .*/out takes no more: No space left .*; [01] files? restored"
    ):
        restore_latest(repository, tmp_path / "out")
