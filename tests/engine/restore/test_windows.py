"""Windows of files: where two writing threads part them, how many directories are held open, what is announced."""

import os
import resource
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from repositories.engine.errors import OperationCancelledError, RestoreTargetError
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MIB
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.repository import Repository
from repositories.engine.restore import run
from repositories.engine.restore.directories import BeforeWriting, Surroundings
from repositories.engine.restore.filling import FileTask
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.windows import Windows, _border, _open_at_once
from repositories.engine.restore.writing import FileWriter
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import pattern


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

    given_up = False

    def give_up(self) -> None:
        self.given_up = True


class Counting:
    """Writes nothing; counts the files."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def stop(self) -> None:
        raise AssertionError("nothing fails")

    def may_leave(self, task: FileTask) -> bool:
        return False

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


class FarChunks(NoChunks):
    """Far away: notes which blocks are announced. Each chunk lies in a block of its own."""

    far = True

    def __init__(self) -> None:
        self.announced: list[int] = []

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> At:
        assert kind is ChunkKind.DATA
        return At(b"pack", chunk_id[0])

    def expect(self, places: Iterable[At]) -> None:
        self.announced += [place.block for place in places]


class NearChunks(FarChunks):
    """The same, near by."""

    far = False


@dataclass
class Gated:
    """Lets nobody write before the gate is open, or only who writes `held`."""

    gate: threading.Event = field(default_factory=threading.Event)
    written: list[bytes] = field(default_factory=list)
    broken: bool = False
    held: bytes | None = None
    enough: int = -1
    reached: threading.Event = field(default_factory=threading.Event)
    left: frozenset[bytes] = frozenset()
    stopped: bool = False
    failing: bytes | None = None

    def stop(self) -> None:
        """Wake who waits, as what is far away does."""
        self.stopped = True
        self.gate.set()

    def may_leave(self, task: FileTask) -> bool:
        return task.path in self.left

    def write(self, task: FileTask) -> None:
        if self.held in (None, task.path):
            assert self.gate.wait(60)
        if self.stopped:
            raise OperationCancelledError("given up", hint="as the test wants it")
        if self.broken or task.path == self.failing:
            raise RestoreTargetError("takes no more", hint="as the test wants it")
        self.written.append(task.path)
        if len(self.written) == self.enough:
            self.reached.set()


def with_block(number: int) -> Entry:
    """Return a file of 8 MiB: four of them are a window."""
    return structs.replace(entry(b"file"), size=8 * MIB, extents=(bytes([number]) * 32,))


def fill(windows: Windows, directory: int, count: int) -> None:
    windows.enter()
    for number in range(count):
        windows.add(directory, b"%d" % number, with_block(number), Surroundings(BeforeWriting()))


def test_far_away_the_blocks_of_a_further_window_are_announced_while_one_is_written(tmp_path: Path) -> None:
    """4.7: nothing is written yet, and what two more windows need is on its way."""
    source, gated = FarChunks(), Gated()
    windows = Windows(source, gated)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with ThreadPoolExecutor(1) as walk:
            adding = walk.submit(fill, windows, directory, 11)
            try:
                adding.result(60)
                announced = list(source.announced)
            finally:
                gated.gate.set()
        windows.finish()
    finally:
        windows.close()
        os.close(directory)
    assert announced == list(range(11))
    assert sorted(gated.written) == sorted(b"%d" % number for number in range(11))


def test_nothing_is_announced_for_files_that_may_stay_as_they_are(tmp_path: Path) -> None:
    """4.7: a restore over what is there already would fetch all of it again."""
    source, gated = FarChunks(), Gated(left=frozenset({b"1", b"3"}))
    gated.gate.set()
    windows = Windows(source, gated)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        fill(windows, directory, 5)
        windows.finish()
    finally:
        windows.close()
        os.close(directory)
    assert source.announced == [0, 2, 4]
    assert len(gated.written) == 5, "whether they stay is for the writer to say"
    assert not source.given_up


def test_a_thread_that_is_through_goes_on_with_the_window_that_waits(tmp_path: Path) -> None:
    """4.2: else it would stand still until the other one is through as well."""
    gated = Gated(held=b"0", enough=6)
    windows = Windows(NearChunks(), gated)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        fill(windows, directory, 8)
        assert gated.reached.wait(60), "two of the first window, and all of the second"
        gated.gate.set()
        windows.finish()
    finally:
        gated.gate.set()
        windows.close()
        os.close(directory)
    assert sorted(gated.written) == sorted(b"%d" % number for number in range(8))


def test_what_breaks_a_window_ends_the_walk_and_nothing_stays_open(tmp_path: Path) -> None:
    source, gated = FarChunks(), Gated(broken=True)
    gated.gate.set()
    before = len(os.listdir("/proc/self/fd"))
    windows = Windows(source, gated)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(RestoreTargetError):
            fill(windows, directory, 100)
        assert len(source.announced) < 20
    finally:
        windows.close()
        os.close(directory)
    assert len(os.listdir("/proc/self/fd")) == before
    assert source.given_up, "nobody waits for what was fetched ahead"
    assert gated.stopped, "nor for what other threads are writing"


def test_who_fails_first_wakes_the_others_and_is_what_is_told(tmp_path: Path) -> None:
    """4.7: the first thread was waited for until all that was fetched ahead had come, and what it wrote was written."""
    source, gated = FarChunks(), Gated(held=b"0", failing=b"3")
    windows = Windows(source, gated)  # type: ignore[arg-type]
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        fill(windows, directory, 4)
        with pytest.raises(RestoreTargetError):
            windows.finish()
    finally:
        windows.close()
        os.close(directory)
    assert gated.written == [b"2"]
    assert source.given_up


def test_what_is_given_up_while_it_is_written_leaves_nothing(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4.7: when one thread fails, no other writes a large file to its end first."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "large").write_bytes(pattern(10_000_000))
    back_up_tree(repository, tmp_path / "tree")
    taken = RestorePulse.taken

    def fail_elsewhere(pulse: RestorePulse, count: int) -> None:
        writers[0].stop()
        taken(pulse, count)

    class Noted(FileWriter):
        def __init__(self, *rest: Any) -> None:
            super().__init__(*rest)
            writers.append(self)

    writers: list[FileWriter] = []
    monkeypatch.setattr(RestorePulse, "taken", fail_elsewhere)
    monkeypatch.setattr(run, "FileWriter", Noted)
    with pytest.raises(OperationCancelledError):
        restore_latest(repository, tmp_path / "out")
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize(("limit", "most"), [(256, 400), (700, 476), (1024, 800), (1 << 20, 800), (-1, 800)])
def test_where_processes_write_as_many_directories_are_open_as_the_limit_lets(
    limit: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With -1 there is no limit; below a few hundred nothing would go on as it is."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert _open_at_once() == most


@pytest.mark.parametrize("source", [NoChunks, FarChunks])
def test_directories_of_a_window_are_bounded(tmp_path: Path, source: type[NoChunks]) -> None:
    """A descriptor is held for each directory until its files are written: a thousand are all that many may have."""
    written = Counting()
    windows = Windows(source(), written)  # type: ignore[arg-type]
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
