"""Backups that are broken off at a chosen moment, with a checkpoint behind every file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.errors import EngineError, OperationCancelledError
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.order import join
from repositories.engine.manifest.root import BackupRoot, decode_root
from repositories.engine.repository import Repository
from tests.engine.repositories import LaterClock, back_up_tree, restore_latest
from tests.engine.trees import assert_same, describe, pattern

SIZE = 70_000
"""Large enough for each read to be looked after: a checkpoint or a cancel may come behind any file."""
TOTAL = 9 * SIZE
"""What `build_files` makes."""
NEVER = 1e9
"""Seconds after which no checkpoint is put but the last one."""


class HurryingClock(LaterClock):
    """Seconds pass with each look at it, so that whatever waits for time is due at once."""

    def __init__(self) -> None:
        super().__init__()
        self._seconds = 0.0

    def monotonic(self) -> float:
        self._seconds += 1.0
        return self._seconds


def build_files(root: Path, directories: int = 2, files: int = 3) -> int:
    """Make files of SIZE bytes in directories and above them; return how many bytes they have together."""
    count = 0
    for number in range(directories + 1):
        directory = root / f"d{number}" if number else root
        directory.mkdir(parents=True, exist_ok=True)
        for index in range(files):
            count += 1
            (directory / f"f{index}").write_bytes(pattern(SIZE, count))
    return count * SIZE


class CancelAfter:
    """Says yes from the n-th question on."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


class CancelWhenRead:
    """A bandwidth bucket that says when so many bytes have been read."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, count: int) -> None:
        self.left -= count

    def __call__(self) -> bool:
        return self.left <= 0


def often(repository: Repository, path: Path, **changes: object) -> BackupResult:
    """Back up with a checkpoint as often as possible."""
    order: dict[str, Any] = {"clock": HurryingClock(), "checkpoint_seconds": 0.0} | changes
    return back_up_tree(repository, path, **order)


def broken_off(repository: Repository, path: Path, size: int, **changes: object) -> None:
    """Back up and cancel when `size` bytes have been read; there is no checkpoint but the last one."""
    cancel = CancelWhenRead(size)
    order: dict[str, Any] = {"clock": HurryingClock(), "cancelled": cancel, "read_bucket": cancel}
    order |= {"first_checkpoint_seconds": NEVER, "checkpoint_seconds": NEVER} | changes
    with pytest.raises(OperationCancelledError):
        back_up_tree(repository, path, **order)


def ended_by(error: EngineError) -> Callable[[], None]:
    """Return a confirmation that raises this."""

    def confirm() -> None:
        raise error

    return confirm


def held(repository: Repository) -> dict[bytes, int]:
    """Return path and size of what the newest checkpoint holds; empty without any."""
    stored = repository.checkpoints().counted
    if not stored:
        return {}
    listings = read_listings(repository.reader(), root_of(repository).pages)
    return {join(each.directory, entry.name): entry.size for each in listings for entry, _ in each.entries}


def root_of(repository: Repository) -> BackupRoot:
    """Return the root of the newest checkpoint."""
    return decode_root(repository.checkpoints().counted[-1].root)


def require_restorable(repository: Repository, source: Path, out: Path) -> None:
    """The newest backup restores identical."""
    assert restore_latest(repository, out, verify=True).exit_code == 0
    assert_same(describe(source), describe(out))


class Heard:
    """Keeps what a backup logs."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __call__(self, level: str, message: str) -> None:
        self.lines.append((level, message))


def replace_keeping_times(path: Path, content: bytes) -> None:
    """Write other content of the same size and put the mtime back."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
