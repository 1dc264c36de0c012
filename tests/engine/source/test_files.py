"""Opening files of a source: never through a link, never waiting, holes where they are."""

import fcntl
import os
import signal
from pathlib import Path

import pytest

from repositories.engine.source.files import TypeChangedError, may_have_holes, open_regular, segments


@pytest.fixture
def directory(tmp_path: Path) -> int:
    return os.open(tmp_path, os.O_RDONLY)


def test_only_regular_files_are_opened(tmp_path: Path, directory: int) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    descriptor, status = open_regular(b"file", directory)
    assert (os.read(descriptor, 9), status.st_size) == (b"x", 1)
    os.close(descriptor)
    before = len(os.listdir("/proc/self/fd"))
    for name in (b"fifo", b"directory"):
        with pytest.raises(TypeChangedError):
            open_regular(name, directory)
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(b"link", directory)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_lease_is_waited_for(tmp_path: Path, directory: int) -> None:
    """A file server's lease makes a first open fail; the holder is asked to let go."""
    path = tmp_path / "leased"
    path.write_bytes(b"x")
    holder = os.open(path, os.O_RDWR)
    old = signal.signal(
        signal.SIGIO, lambda number, frame: fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_UNLCK) and None
    )
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        pytest.skip("no leases here")
    try:
        os.close(open_regular(b"leased", directory)[0])
    finally:
        signal.signal(signal.SIGIO, old)
        os.close(holder)


@pytest.mark.parametrize(
    ("parts", "size"),
    [
        ([], 1_000_000),
        ([0], 1_000_000),
        ([500_000], 1_000_000),
        ([0, 999_000], 1_000_000),
        ([300_000, 600_000], 600_100),
    ],
)
def test_segments_cover_the_file_and_all_data(parts: list[int], size: int, tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(size)
        for offset in parts:
            file.seek(offset)
            file.write(b"data")
    descriptor = os.open(tmp_path / "sparse", os.O_RDONLY)
    found = list(segments(descriptor, size))
    assert [start for start, _, _ in found] == [0, *(end for _, end, _ in found)][: len(found)]
    assert found[-1][1] == size
    assert all(any(start <= offset < end and is_data for start, end, is_data in found) for offset in parts)
    assert may_have_holes(os.fstat(descriptor))
    os.close(descriptor)


def test_where_holes_cannot_be_asked_for_all_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(bytes(1000))
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)

    def refuse(*rest: object) -> int:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("repositories.engine.source.files.os.lseek", refuse)
    assert list(segments(descriptor, 1000)) == [(0, 1000, True)]
