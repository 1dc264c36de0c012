"""Large files that were cut in the middle: the next try goes on behind what was read of them (2.15)."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import FLAG_BEGUN
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import (
    HurryingClock,
    broken_off,
    held,
    often,
    require_restorable,
)
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository

MB = 1_000_000
BUFFERED = 8 * MB
"""What the chunker holds in its buffer has been read, and has not been cut."""


@pytest.fixture(autouse=True)
def _keep_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("begun", "content"):
        monkeypatch.setattr(f"repositories.engine.backup.{module}.WORTH_KEEPING", MB)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.mkdir()
    (path / "a").write_bytes(b"before it")
    (path / "image").write_bytes(os.urandom(24 * MB))
    (path / "z").write_bytes(b"behind it")
    return path


def test_reading_goes_on_behind_what_was_read(tmp_path: Path, source: Path, repository: Repository) -> None:
    broken_off(repository, source, 20 * MB)
    assert list(held(repository)) == [b"a", b"image"]
    result = back_up_tree(repository, source)
    assert result.bytes_read <= 24 * MB + 9 - 20 * MB + BUFFERED
    assert (result.files, result.logical_bytes) == (3, 24 * MB + 18)
    assert result.problems == []
    entries = dict(walk_entries(repository, list_backups(repository)[-1]))
    assert all(not entry.flags & FLAG_BEGUN for entry in entries.values())
    require_restorable(repository, source, tmp_path / "out")
    assert back_up_tree(repository, source).bytes_read == 0


def test_several_tries_each_get_further(tmp_path: Path, source: Path, repository: Repository) -> None:
    """Many chunks: the parts are streams of their own, and begin each other."""
    (source / "image").write_bytes(os.urandom(70 * MB))
    for _ in range(3):
        broken_off(repository, source, 25 * MB)
    assert back_up_tree(repository, source).bytes_read <= 70 * MB - 3 * 25 * MB + 3 * BUFFERED + 20
    require_restorable(repository, source, tmp_path / "out")


def test_a_sparse_file_goes_on_among_its_holes(tmp_path: Path, source: Path, repository: Repository) -> None:
    with open(source / "image", "wb") as file:
        for start in (0, 30, 60, 90):
            file.seek(start * MB)
            file.write(os.urandom(9 * MB))
        file.truncate(120 * MB)
    broken_off(repository, source, 30 * MB)
    result = back_up_tree(repository, source)
    assert result.bytes_read < 36 * MB - 18 * MB + MB
    assert result.logical_bytes == 120 * MB + 18
    require_restorable(repository, source, tmp_path / "out")


def write_into(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(MB)
        file.write(b"changed")


def write_keeping_times(path: Path) -> None:
    before = path.stat()
    write_into(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    content = path.read_bytes()
    path.rename(path.with_name("kept"))
    path.write_bytes(content[: 2 * MB])


CHANGES: dict[str, Callable[[Path], None]] = {
    "written": write_into,
    "times put back": write_keeping_times,
    "grown": lambda path: os.truncate(path, 25 * MB),
    "shrunk": lambda path: os.truncate(path, 2 * MB),
    "gone": lambda path: path.unlink(),
    "replaced": replace,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_since_is_read_from_its_beginning(
    change: str, tmp_path: Path, source: Path, repository: Repository
) -> None:
    broken_off(repository, source, 20 * MB)
    time.sleep(0.02)  # longer than a tick of the kernel's coarse clock
    CHANGES[change](source / "image")
    size = sum(path.stat().st_size for path in source.iterdir())
    # What was grown by is a hole, which may be told from data or not.
    assert size - 9 - MB <= back_up_tree(repository, source).bytes_read <= size - 9
    require_restorable(repository, source, tmp_path / "out")


def test_chunks_that_are_gone_are_read_again(tmp_path: Path, source: Path) -> None:
    storage = MemoryStorage()
    broken_off(make_repository(storage), source, 20 * MB)
    largest = max(
        (name for name in storage.objects if name.startswith("packs/")), key=lambda n: len(storage.objects[n])
    )
    del storage.objects[largest]
    result = back_up_tree(open_repository(storage, PASSWORD), source)
    assert result.bytes_read >= 24 * MB
    require_restorable(open_repository(storage, PASSWORD), source, tmp_path / "out")


def test_a_young_file_is_not_gone_on_with(source: Path, repository: Repository) -> None:
    now = HurryingClock()
    now.ahead = 0.0
    broken_off(repository, source, 20 * MB, clock=now)
    assert list(held(repository)) == [b"a"]


def test_a_killed_reader_left_what_the_last_checkpoint_holds(tmp_path: Path, source: Path) -> None:
    storage = MemoryStorage()
    make_repository(storage)
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    often(open_repository(counting, PASSWORD), source)
    for at in (counting.writes // 2, counting.writes - 6):
        storage.objects.clear()
        storage.objects.update(kept)
        with pytest.raises(KilledError):
            often(open_repository(FaultyStorage(storage, Fault.KILL, at), PASSWORD), source)
        result = back_up_tree(open_repository(storage, PASSWORD), source)
        assert result.bytes_read < 24 * MB
        require_restorable(open_repository(storage, PASSWORD), source, tmp_path / f"out{at}")


def test_a_file_that_cannot_be_read_to_its_end_is_in_no_later_checkpoint(
    source: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it come before what follows it, where its name would be out of order."""
    real = os.readv
    for number in range(200):
        (source / f"link{number}").symlink_to("a")

    def fail(descriptor: int, buffers: list[memoryview]) -> int:
        if os.lseek(descriptor, 0, os.SEEK_CUR) > 12 * MB:
            raise OSError(5, "Input/output error")
        return real(descriptor, buffers)

    monkeypatch.setattr("repositories.engine.backup.content.os.readv", fail)
    result = often(repository, source)
    assert (result.files, result.links, result.skipped) == (2, 200, 1)
    assert b"image" not in held(repository)
    assert len(held(repository)) > 60
