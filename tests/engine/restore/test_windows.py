"""Windows of files: where two writing threads part them, and how many directories are held open."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.restore.directories import BeforeWriting, Surroundings
from repositories.engine.restore.windows import Windows, _border
from repositories.engine.restore.writing import FileTask


@dataclass(frozen=True)
class At:
    """Where a chunk lies."""

    pack: bytes
    block: int
    offset: int = 0
    length: int = 1


class NoChunks:
    """A source of files without content."""

    far = False


class Counting:
    """Writes nothing; counts the files."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, task: FileTask) -> None:
        self.written.append(task.path)


def entry(name: bytes) -> Entry:
    return Entry(EntryType.FILE, name, 0o100600, 0, 0, 0, 0, 0, 1)


def task(place: At | None) -> FileTask:
    return FileTask(0, b"file", entry(b"file"), Surroundings(BeforeWriting()), place)


@pytest.mark.parametrize(
    ("blocks", "border"),
    [
        ([0, 0, 0, 1], 3),
        ([0, 1, 1, 1], 1),
        ([0, 0, 1, 1, 2, 2], 2),
        ([0, 0, 0, 0], 2),
        ([0], 0),
        ([None, None, 4, 4], 2),
    ],
)
def test_no_block_is_for_both_threads_where_there_are_two(blocks: list[int | None], border: int) -> None:
    """A block that both need would be decoded twice at the same moment; one alone is still shared."""
    assert _border([task(None if block is None else At(b"pack", block)) for block in blocks]) == border


def test_directories_of_a_window_are_bounded(tmp_path: Path) -> None:
    """A descriptor is held for each directory until its files are written: a thousand are all that many may have."""
    written = Counting()
    windows = Windows(NoChunks(), written)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    before = most = len(os.listdir("/proc/self/fd"))
    try:
        for number in range(900):
            windows.enter()
            windows.add(directory, b"%d" % number, entry(b"file"), Surroundings(BeforeWriting()))
            most = max(most, len(os.listdir("/proc/self/fd")))
        windows.finish()
    finally:
        windows.close()
        os.close(directory)
    assert len(written.written) == 900
    assert most - before <= 401
