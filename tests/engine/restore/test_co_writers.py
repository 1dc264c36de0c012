"""Restores whose files are written by processes beside: the same result, whatever becomes of those (4.2, 4.4)."""

import contextlib
import errno
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.repository import Repository
from repositories.engine.restore import co_writer, co_writers, run, windows
from repositories.engine.restore.co_writer import CoWriter
from repositories.engine.restore.co_writers import CoWriters
from repositories.engine.restore.filling import Filler
from repositories.engine.restore.parcels import Outcome, Parcel
from repositories.engine.throttle import Throttle
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import IS_ROOT, Description, assert_same, describe
from tests.engine.users import as_ordinary_user, let_others_through

Count = Callable[[], int]
FILES = 60
"""In three directories."""


def children() -> set[int]:
    """Return the processes that this one has begun and not yet waited for."""
    found: set[int] = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found.update(map(int, (task / "children").read_text().split()))
    return found


def empty_file(name: bytes) -> Entry:
    return Entry(EntryType.FILE, name, 0o100600, os.geteuid(), os.getegid(), 0, 0, 0, 1)


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> list[CoWriters]:
    """Let every restore have two processes from its first window on; note those that were begun."""
    made: list[CoWriters] = []

    class Noted(CoWriters):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(windows, "ALONE", 0)
    monkeypatch.setattr(windows, "_FILES", 10)
    monkeypatch.setattr(run, "most_at_once", lambda: 2)
    monkeypatch.setattr(run, "CoWriters", Noted)
    return made


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Give what tells how many files processes have written so far."""
    counts: list[int] = []
    count = CoWriters._count

    def noting(self: CoWriters, tasks: list[Any], outcome: Outcome) -> None:
        counts.append(len(tasks) - len(outcome.left))
        count(self, tasks, outcome)

    monkeypatch.setattr(CoWriters, "_count", noting)
    return lambda: sum(counts)


@pytest.fixture
def tree(tmp_path: Path, repository: Repository) -> Description:
    """Back up files of all kinds of content; return what they were."""
    for number in range(FILES):
        path = tmp_path / "tree" / f"directory {number % 3}" / f"file {number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d" % number * (number % 7) * 1000)
        path.chmod(0o600 + number % 64)
        os.utime(path, ns=(10**18 + number, 10**18 + number))
    os.truncate(tmp_path / "tree" / "directory 0" / "file 3", 3_000_000)
    before = describe(tmp_path / "tree")
    back_up_tree(repository, tmp_path / "tree")
    return before


def test_what_processes_write_is_what_was_backed_up(
    tmp_path: Path, repository: Repository, everything: Description, written: Count
) -> None:
    """Links, holes, attributes, ACLs and names of all kinds; what is not plain the restore does itself."""
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert_same(everything, describe(tmp_path / "out"))
    assert (result.failed, result.damaged, result.kept, result.existing, result.exit_code) == (0, 0, 0, 0, 0)
    assert 0 < written() <= result.files


def test_figures_are_those_of_a_restore_alone(
    tmp_path: Path,
    repository: Repository,
    tree: Description,
    monkeypatch: pytest.MonkeyPatch,
    written: Count,
) -> None:
    beside = restore_latest(repository, tmp_path / "beside")
    assert written() == FILES
    monkeypatch.setattr(run, "most_at_once", lambda: 1)
    assert restore_latest(repository, tmp_path / "alone") == beside
    assert written() == FILES
    assert_same(tree, describe(tmp_path / "beside"))


def test_nothing_is_left_of_the_processes(tmp_path: Path, repository: Repository, tree: Description) -> None:
    before, running = len(os.listdir("/proc/self/fd")), children()
    restore_latest(repository, tmp_path / "out")
    assert children() <= running
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_restore_goes_on_when_its_processes_are_killed(
    tmp_path: Path, repository: Repository, tree: Description, monkeypatch: pytest.MonkeyPatch, written: Count
) -> None:
    """A file that one was writing carries the mark: it is written anew. What was complete is found so."""
    fill = Filler.fill

    def dying(self: Any, descriptor: int, task: Any) -> None:
        fill(self, descriptor, task)
        if task.entry.name in (b"file 30", b"file 41"):
            os.fchmod(descriptor, 0o1600)
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(co_writer, "Filler", type("Dying", (Filler,), {"fill": dying}))
    said: list[tuple[str, str]] = []
    hooks = Hooks(log=lambda level, text: said.append((level, text)))
    result = restore_latest(repository, tmp_path / "out", verify=True, hooks=hooks)
    assert_same(tree, describe(tmp_path / "out"))
    assert (result.failed, result.kept, result.damaged) == (0, 0, 0)
    assert written() < FILES
    monkeypatch.setattr(run, "most_at_once", lambda: 1)
    assert result == restore_latest(repository, tmp_path / "alone", verify=True), "none was there before"
    assert len(set(said)) == len(said) == 2, said
    assert all(
        level == "warning" and "which wrote files for this restore, was ended by signal 9 (SIGKILL): the" in text
        for level, text in said
    )


def test_what_was_there_before_is_told_as_such_when_a_process_dies(
    tmp_path: Path, repository: Repository, tree: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what a process of this restore has made counts as restored."""
    restore_latest(repository, tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "directory 1")
    monkeypatch.setattr(CoWriter, "write", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert_same(tree, describe(tmp_path / "out"))
    assert (result.files, result.failed, result.kept) == (FILES // 3, 0, 0)
    assert result.existing == 2 * FILES // 3 + 2, "with their directories"


def test_a_defect_in_a_process_costs_nothing_but_its_help(
    tmp_path: Path,
    repository: Repository,
    tree: Description,
    monkeypatch: pytest.MonkeyPatch,
    written: Count,
) -> None:
    monkeypatch.setattr(CoWriter, "write", lambda *_: 1 / 0)
    result = restore_latest(repository, tmp_path / "out")
    assert_same(tree, describe(tmp_path / "out"))
    assert (result.files, written()) == (FILES, 0)


def test_damaged_files_are_told_by_the_restore(
    tmp_path: Path, repository: Repository, tree: Description, written: Count
) -> None:
    packs = sorted(repository.object_names("packs/"), key=lambda each: each.size)
    data = bytearray(repository.storage.get(packs[-1].name))
    data[len(data) // 3] ^= 1
    repository.storage.delete(packs[-1].name)
    repository.storage.put(packs[-1].name, bytes(data))
    result = restore_latest(repository, tmp_path / "out")
    assert result.damaged
    assert result.exit_code == 13
    assert result.files + result.damaged == FILES
    assert written() == result.files
    assert not any((tmp_path / "out" / os.fsdecode(path)).exists() for path in result.damaged_paths)


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_warnings_of_processes_are_counted_once_each(tmp_path: Path, repository: Repository) -> None:
    """An ordinary user can give nothing away: each file lacks its owner, and is written once all the same."""
    for number in range(30):
        (tmp_path / "tree").mkdir(exist_ok=True)
        path = tmp_path / "tree" / f"{number}"
        path.write_bytes(b"%d" % number)
        os.chown(path, 4242, 4242)
    back_up_tree(repository, tmp_path / "tree")
    work = tmp_path / "work"
    work.mkdir()
    let_others_through(work)
    result = as_ordinary_user(lambda: restore_latest(repository, work / "out"), work)
    assert (result.files, result.warnings["owner"], result.failed) == (30, 30 + 1, 0)
    (lack,) = result.shortfalls
    assert (lack.kind, lack.count, lack.reason) == ("owner", 31, os.strerror(errno.EPERM))


def test_a_cancel_ends_processes_that_are_in_the_middle_of_a_file(
    tmp_path: Path, repository: Repository, tree: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: within 5 s in every phase. Nothing is left that would pass for a whole file."""
    fill = Filler.fill

    def slow(self: Any, descriptor: int, task: Any) -> None:
        time.sleep(60 if task.entry.name == b"file 30" else 0)
        fill(self, descriptor, task)

    monkeypatch.setattr(co_writer, "Filler", type("Slow", (Filler,), {"fill": slow}))
    monkeypatch.setattr(co_writers, "_GRACE_MILLISECONDS", 100)
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    running = children()
    with pytest.raises(OperationCancelledError):
        restore_latest(repository, tmp_path / "out", hooks=Hooks(cancelled=cancel.is_set))
    assert children() <= running
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert_same(tree, describe(tmp_path / "out"))
    assert (result.failed, result.kept) == (0, 0)


def test_few_files_a_limit_and_a_single_processor_begin_none(
    tmp_path: Path, repository: Repository, tree: Description, monkeypatch: pytest.MonkeyPatch, begun: list[CoWriters]
) -> None:
    bucket = Throttle(10**9, monotonic=time.monotonic, sleep=time.sleep)
    restore_latest(repository, tmp_path / "limited", hooks=Hooks(read_bucket=bucket))
    monkeypatch.setattr(run, "most_at_once", lambda: 1)
    restore_latest(repository, tmp_path / "single")
    monkeypatch.setattr(run, "most_at_once", lambda: 2)
    monkeypatch.setattr(windows, "ALONE", 2)
    monkeypatch.setattr(windows, "_FILES", FILES)
    restore_latest(repository, tmp_path / "few")
    assert begun == []


def test_without_processes_to_be_had_the_restore_does_all_itself(
    tmp_path: Path, repository: Repository, tree: Description, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert restore_latest(repository, tmp_path / "out").files == FILES
    assert_same(tree, describe(tmp_path / "out"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_there_is_never_a_processs_to_judge(
    tmp_path: Path, repository: Repository, tree: Description, written: Count
) -> None:
    restore_latest(repository, tmp_path / "out")
    before = written()
    (tmp_path / "out" / "directory 1" / "file 4").write_bytes(b"mine")
    result = restore_latest(repository, tmp_path / "out")
    assert (result.kept, written()) == (1, before)
    assert (tmp_path / "out" / "directory 1" / "file 4").read_bytes() == b"mine"


def test_a_name_that_is_taken_meanwhile_goes_back_to_the_restore(tmp_path: Path, repository: Repository) -> None:
    """Only who was asked to overwrite may, and that is not judged here."""
    writer = CoWriter(repository.reader(), lambda: False)
    directory = os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "taken").write_bytes(b"mine")
    parcel: Parcel = [(0, empty_file(name)) for name in (b"free", b"taken", b"also free")]
    assert writer.write(parcel, [directory]) == Outcome(0, [1], [])
    os.close(directory)
    assert (tmp_path / "taken").read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == ["also free", "free", "taken"]
