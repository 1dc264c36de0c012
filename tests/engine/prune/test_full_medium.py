"""A prune of a medium with 0 bytes free: the reserve is spent, the room comes back, the reserve too (3.4, traps 39)."""

import errno
import io
import os
from pathlib import Path

import pytest

from repositories.engine.errors import StorageFullError
from repositories.engine.process.prune_operation import prune_fields
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.mounts import LIBC, with_mounts
from tests.engine.prune.builders import back_up, checked, files, forget, packs, reopened, require_backup, run
from tests.engine.repositories import CHEAP, PASSWORD, make_repository

MIB = 1024 * 1024


def mount_small(point: Path, size: int) -> None:
    assert LIBC.mount(b"none", os.fsencode(point), b"tmpfs", 0, b"size=%d" % size) == 0


def fill(directory: Path) -> None:
    """Fill a file system to the last byte with a file that is none of the repository's."""
    with open(directory / "filler", "wb", buffering=0) as file:
        for size in (64 * 1024, 4096, 1):
            while _fits(file, size):
                pass


def _fits(file: io.RawIOBase, size: int) -> bool:
    try:
        return bool(file.write(bytes(size)))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False


def on_a_full_medium(root: Path) -> tuple[bool, int, bool]:
    medium = root / "medium"
    medium.mkdir()
    mount_small(medium, 24 * MIB)
    storage = LocalStorage(str(medium / "repository"))
    repository = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP)).repository
    first = back_up(repository, root / "tree", files(*range(150), size=60_000))
    content = files(*range(0, 150, 50), size=60_000)
    second = back_up(repository, root / "tree", content)
    forget(repository, first)
    fill(medium)
    assert storage.free_space() == 0
    with pytest.raises(StorageFullError):
        back_up(repository, root / "tree", files(1000))
    report = run(storage)
    assert report.finished
    assert report.repack_stopped == "the medium is full"
    checked(storage)
    require_backup(reopened(storage), second, content, root / "restored")
    third = back_up(reopened(storage), root / "tree", files(1000))
    os.unlink(medium / "filler")
    assert run(storage).finished
    require_backup(reopened(storage), third, files(1000), root / "third")
    return report.reserve_used, report.bytes_freed, (medium / "repository" / "reserve").exists()


def test_a_medium_without_a_byte_left_is_cleaned(tmp_path: Path) -> None:
    used, freed, back = with_mounts(lambda: on_a_full_medium(tmp_path))
    assert used
    assert freed > 4 * MIB
    assert back


class FullStorage(MemoryStorage):
    """Has room for `room` bytes more; what is deleted makes room again."""

    def __init__(self) -> None:
        super().__init__()
        self.room: int | None = None

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if self.room is not None:
            if len(data) > self.room:
                raise StorageFullError("the medium is full", hint="make room")
            self.room -= len(data)
        super().put(name, data, overwrite=overwrite)

    def delete(self, name: str) -> None:
        size = self.size(name)
        super().delete(name)
        if self.room is not None:
            self.room += size

    def free_space(self) -> int | None:
        return self.room


def test_an_index_that_does_not_fit_is_written_after_the_packs_are_gone(tmp_path: Path) -> None:
    storage = FullStorage()
    repository = make_repository(storage)
    first = back_up(repository, tmp_path / "tree", files(*range(40), size=20_000))
    content = files(*range(0, 40, 8), size=20_000)
    second = back_up(repository, tmp_path / "tree", content)
    forget(repository, first)
    before = packs(repository)
    segments = [len(data) for name, data in storage.objects.items() if name.startswith("index/")]
    storage.room = 1500 + min(segments) // 2
    report = run(storage)
    assert report.sweep
    assert report.repack_needs > report.repack_free
    assert report.reserve_used
    assert packs(repository) < before
    assert storage.objects.keys() >= {"reserve"} or storage.room < 16 * MIB
    checked(storage)
    require_backup(reopened(storage), second, content, tmp_path / "second")
    storage.room = None
    assert run(storage).finished
    assert "reserve" in storage.objects
    assert checked(storage).unused_packs == 0


def mostly_unused(storage: FullStorage, root: Path) -> tuple[str, dict[str, bytes]]:
    """Make packs of which the most is unused, and none that nothing uses; return the backup that is left."""
    repository = make_repository(storage)
    first = back_up(repository, root / "tree", files(*range(80), size=20_000))
    content = files(*range(0, 80, 8), size=20_000)
    second = back_up(repository, root / "tree", content)
    forget(repository, first)
    return second, content


def test_what_fits_is_packed_anew_on_a_medium_that_is_nearly_full(tmp_path: Path) -> None:
    storage = FullStorage()
    kept, content = mostly_unused(storage, tmp_path)
    storage.room = 2 * MIB
    report = run(storage)
    assert (report.repack_stopped, report.repack_needs, report.finished) == ("", 0, True)
    assert report.repacked_packs > 0
    assert report.bytes_freed - report.bytes_written > MIB
    assert checked(storage).unused_packs == 0
    require_backup(reopened(storage), kept, content, tmp_path / "kept")


def test_no_room_for_a_new_pack_is_told_in_bytes_and_is_not_finished(tmp_path: Path) -> None:
    storage = FullStorage()
    kept, content = mostly_unused(storage, tmp_path)
    storage.room = 500_000
    run(storage)
    storage.room = 500_000
    preview = run(storage, dry_run=True)
    report = run(storage)
    assert report.repack_stopped == "there is no room for more new packs"
    assert MIB < report.repack_needs == preview.repack_needs < 2 * MIB
    assert report.repack_free == storage.room
    assert not report.finished
    assert (prune_fields(report)["exit_code"], prune_fields(preview)["exit_code"]) == (3, 0)
    checked(storage)
    storage.room = report.repack_needs + 100_000
    assert run(storage).repacked_packs > 0
    checked(storage)
    require_backup(reopened(storage), kept, content, tmp_path / "kept")


def test_each_prune_goes_on_with_the_room_that_the_one_before_has_freed(tmp_path: Path) -> None:
    storage = FullStorage()
    repository = make_repository(storage)
    content = files(*range(40), size=300_000)
    first = back_up(repository, tmp_path / "tree", content | files(*range(100, 140), size=200_000))
    second = back_up(repository, tmp_path / "tree", content)
    forget(repository, first)
    storage.room = 2 * MIB
    runs = 0
    while (report := run(storage, pack_target=8 * MIB)).repack_stopped:
        assert report.repacked_packs > 0
        assert (report.finished, report.repack_needs) == (True, 0)
        checked(storage)
        runs += 1
    assert runs > 0
    assert report.finished
    require_backup(reopened(storage), second, content, tmp_path / "kept")
