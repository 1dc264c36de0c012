"""Interrupted backups go on from their checkpoint: what did not change is not read twice (2.15)."""

import os
import time
from pathlib import Path

import pytest

from repositories.engine.errors import (
    CommitRefusedError,
    LeaseLostError,
    OperationCancelledError,
    SourceVanishedError,
)
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import (
    NEVER,
    SIZE,
    TOTAL,
    CancelAfter,
    Heard,
    broken_off,
    build_files,
    ended_by,
    held,
    often,
    replace_keeping_times,
    require_restorable,
    root_of,
)
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import assert_same, describe, pattern


@pytest.fixture
def source(tmp_path: Path) -> Path:
    build_files(tmp_path / "source")
    return tmp_path / "source"


def test_a_cancelled_first_backup_goes_on_where_it_was(tmp_path: Path, source: Path, repository: Repository) -> None:
    """Bytes read prove it. A checkpoint is no backup and no parent: what follows is a full backup."""
    broken_off(repository, source, 4 * SIZE)
    assert list_backups(repository) == []
    known = held(repository)
    assert (root_of(repository).lineage.mode, root_of(repository).statistics.bytes_read) == ("full", 4 * SIZE)
    heard = Heard()
    result = back_up_tree(repository, source, log=heard)
    assert sum(known.values()) == 3 * SIZE, "the fourth had been read, but not been described"
    assert result.bytes_read == TOTAL - 3 * SIZE
    assert result.new_chunks == 6 + 1, "files and a page"
    assert (result.mode, result.parent_id, result.chain) == ("full", None, result.backup_id)
    assert (result.files, result.logical_bytes) == (9, TOTAL)
    ((level, message),) = heard.lines
    assert level == "info"
    assert message.startswith("goes on from a checkpoint of 2")
    assert message.endswith(f": {len(known)} entries known")
    require_restorable(repository, source, tmp_path / "out")
    assert back_up_tree(repository, source, log=heard).bytes_read == 0
    assert len(heard.lines) == 1, "a backup that was committed is newer than its checkpoint"


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.TEAR])
def test_a_kill_at_any_write_loses_only_what_came_after_the_checkpoint(
    tmp_path: Path, source: Path, fault: Fault
) -> None:
    """Whatever is left restores identical, and nothing that the newest checkpoint holds is read again."""
    storage = MemoryStorage()
    make_repository(storage)
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    often(open_repository(counting, PASSWORD), source)
    before = describe(source)
    assert counting.writes > 20
    read: list[int] = []
    # Torn objects at every third write are all kinds of objects.
    for at in range(1, counting.writes + 1, 3 if fault is Fault.TEAR else 1):
        storage.objects.clear()
        storage.objects.update(kept)
        with pytest.raises(KilledError):
            often(open_repository(FaultyStorage(storage, fault, at), PASSWORD), source)
        repository = open_repository(storage, PASSWORD)
        done = bool(list_backups(repository))
        known = 0 if done else sum(held(repository).values())
        result = back_up_tree(repository, source)
        assert result.bytes_read == (0 if done else TOTAL - known)
        read.append(result.bytes_read)
        out = tmp_path / f"out{at}"
        assert restore_latest(open_repository(storage, PASSWORD), out).exit_code == 0
        assert_same(before, describe(out))
    assert read == sorted(read, reverse=True)
    assert len(set(read)) > 5, "there was a checkpoint behind nearly every file"


def test_changes_after_the_checkpoint_are_seen(tmp_path: Path, source: Path, repository: Repository) -> None:
    """All rules of the comparison with a parent hold: also content replaced with size and mtime put back is seen."""
    broken_off(repository, source, TOTAL - SIZE)
    assert len(held(repository)) == 9
    time.sleep(0.02)  # longer than a tick of the kernel's coarse clock
    (source / "f0").write_bytes(b"other content of another size")
    replace_keeping_times(source / "f1", pattern(SIZE, 77))
    (source / "f2").rename(source / "f9")
    (source / "d1" / "f0").unlink()
    (source / "d1" / "f1").unlink()
    (source / "d1" / "f1").symlink_to("f2")
    (source / "d1" / "f2").unlink()
    (source / "d1" / "f2").mkdir()
    (source / "d0").write_bytes(b"before all")
    result = back_up_tree(repository, source)
    # A renamed file has a new ctime besides its new name.
    assert result.bytes_read == 29 + SIZE + SIZE + 10 + 2 * SIZE
    require_restorable(repository, source, tmp_path / "out")


def test_a_try_that_is_broken_off_early_does_not_undo_the_one_before(
    tmp_path: Path, source: Path, repository: Repository
) -> None:
    """The newest checkpoint reaches less far than the older one: both are looked into."""
    broken_off(repository, source, 8 * SIZE)
    (source / "f0").write_bytes(pattern(SIZE, 50))
    (source / "f2").write_bytes(pattern(SIZE, 51))
    broken_off(repository, source, 2 * SIZE)
    assert len(held(repository)) < 6
    assert back_up_tree(repository, source).bytes_read == TOTAL - 7 * SIZE + SIZE
    require_restorable(repository, source, tmp_path / "out")


def test_many_tries_each_get_further(tmp_path: Path, source: Path, repository: Repository) -> None:
    for _ in range(4):
        broken_off(repository, source, 3 * SIZE)
    assert len(held(repository)) == 8 + 2
    assert back_up_tree(repository, source).bytes_read == SIZE
    require_restorable(repository, source, tmp_path / "out")


def test_an_interrupted_incremental_backup_goes_on_too(tmp_path: Path, source: Path, repository: Repository) -> None:
    """The checkpoint is looked into first, the parent second; the parent stays the committed one."""
    first = back_up_tree(repository, source)
    for name in ("f0", "f1", "d1/f0", "d2/f0"):
        (source / name).write_bytes(pattern(SIZE, len(name) + 90))
    broken_off(repository, source, 3 * SIZE)
    assert root_of(repository).lineage.mode == "incremental"
    result = back_up_tree(repository, source)
    assert (result.bytes_read, result.parent_id, result.mode) == (2 * SIZE, first.backup_id, "incremental")
    require_restorable(repository, source, tmp_path / "out")


def test_a_cancel_at_any_question_leaves_a_repository_to_go_on_with(tmp_path: Path, source: Path) -> None:
    """Every phase: before the walk, in the middle of a file, while storing."""
    asked = CancelAfter(10**9)
    often(make_repository(), source, cancelled=asked)
    questions = 10**9 - asked.left
    assert questions > 9
    for number in range(questions):
        repository = make_repository()
        with pytest.raises(OperationCancelledError):
            often(repository, source, cancelled=CancelAfter(number))
        assert list_backups(repository) == []
        known = sum(held(repository).values())
        result = back_up_tree(repository, source)
        assert result.bytes_read == TOTAL - known
        assert known >= (number - 2) * SIZE
    require_restorable(repository, source, tmp_path / "out")


@pytest.mark.parametrize(
    "error",
    [OperationCancelledError("cancelled while waiting"), LeaseLostError("taken over"), CommitRefusedError("a prune")],
    ids=lambda error: error.code,
)
def test_a_refused_commit_is_gone_on_from(error: OperationCancelledError, source: Path, repository: Repository) -> None:
    with pytest.raises(type(error)):
        back_up_tree(repository, source, confirm=ended_by(error))
    assert list_backups(repository) == []
    assert back_up_tree(repository, source).bytes_read == 0


def test_a_source_that_goes_away_is_gone_on_with(tmp_path: Path, source: Path, repository: Repository) -> None:
    def unmount() -> bool:
        if (source / "d2").exists() and len(seen) == 5:
            source.rename(tmp_path / "elsewhere")
        seen.append(0)
        return False

    seen: list[int] = []
    with pytest.raises(SourceVanishedError):
        often(repository, source, cancelled=unmount, checkpoint_seconds=NEVER, first_checkpoint_seconds=NEVER)
    (tmp_path / "elsewhere").rename(source)
    known = sum(held(repository).values())
    assert known >= 3 * SIZE
    assert back_up_tree(repository, source).bytes_read <= TOTAL - known + SIZE
    require_restorable(repository, source, tmp_path / "out")


def test_after_an_error_of_the_repository_no_checkpoint_is_put(source: Path) -> None:
    storage = MemoryStorage()
    make_repository(storage)
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    often(open_repository(counting, PASSWORD), source)
    for at in range(2, counting.writes, 2):
        storage.objects.clear()
        storage.objects.update(kept)
        failing = FaultyStorage(storage, Fault.FAIL, at)
        with pytest.raises(Exception, match="does not answer"):
            often(open_repository(failing, PASSWORD), source)
        after = failing.writes - at
        # A writer's thread may have been in the middle of its own pack; nothing begins after the failure.
        assert after <= 1, f"{after} writes after the failed write {at}"
        result = back_up_tree(open_repository(storage, PASSWORD), source)
        assert result.bytes_read <= TOTAL


def test_the_content_of_a_file_cut_in_the_middle_is_not_stored_twice(tmp_path: Path, repository: Repository) -> None:
    """It is not large enough to be kept in the checkpoint, so it is read again. Its chunks are there."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "image").write_bytes(os.urandom(12_000_000))
    broken_off(repository, source, 9_000_000)
    assert repository.checkpoints().counted == [], "there is nothing to put but chunks"
    result = back_up_tree(repository, source)
    assert result.bytes_read == 12_000_000
    assert result.bytes_stored < 8_000_000
    require_restorable(repository, source, tmp_path / "out")


def test_a_link_beyond_the_checkpoint_is_not_read_again(tmp_path: Path, repository: Repository) -> None:
    source = tmp_path / "source"
    build_files(source)
    os.link(source / "f0", source / "d2" / "z0")
    os.link(source / "f1", source / "d2" / "z1")
    broken_off(repository, source, 5 * SIZE)
    known = held(repository)
    assert b"f0" in known
    assert b"d2/z0" not in known
    result = back_up_tree(repository, source)
    assert result.bytes_read == TOTAL - sum(known.values())
    assert (result.files, result.logical_bytes) == (11, TOTAL)
    require_restorable(repository, source, tmp_path / "out")


def test_young_files_are_read_again(source: Path, repository: Repository) -> None:
    """What was written less than 2 s before its reading may have been written again under the same times."""
    (source / "f0").touch()
    clock_that_stands = {"clock": type("Now", (), {"now_ns": time.time_ns, "monotonic": time.monotonic})()}
    with pytest.raises(OperationCancelledError):
        back_up_tree(repository, source, confirm=ended_by(OperationCancelledError("now")), **clock_that_stands)
    assert b"f0" in held(repository)
    assert back_up_tree(repository, source).bytes_read >= SIZE


def test_problems_are_found_again(source: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the broken-off try skipped or warned of is met by the next one: nothing goes missing in silence."""
    real = os.read

    def fail(descriptor: int, length: int) -> bytes:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("source/f1"):
            raise OSError(5, "Input/output error")
        return real(descriptor, length)

    def refuse(target: int | bytes, **options: object) -> list[str]:
        path = os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else os.path.realpath(target).decode()
        if path.endswith(("source/f2", "d1/f0")):
            raise OSError(5, "Input/output error")
        return []

    monkeypatch.setattr("repositories.engine.backup.content.os.read", fail)
    monkeypatch.setattr("repositories.engine.metadata.extended.os.listxattr", refuse)
    broken_off(repository, source, 6 * SIZE)
    result = back_up_tree(repository, source)
    assert [(problem.kind, problem.path) for problem in result.problems] == [
        (ProblemKind.IO_ERROR, b"f1"),
        (ProblemKind.ATTRIBUTE, b"f2"),
        (ProblemKind.ATTRIBUTE, b"d1/f0"),
    ]
    assert (result.skipped, result.warnings) == (1, 2)
    again = back_up_tree(repository, source)
    assert (again.skipped, again.warnings, again.bytes_read) == (1, 2, 0), "nor by a backup with a parent"


def test_many_short_tries_do_not_hide_a_long_one(source: Path, repository: Repository) -> None:
    """Only a few places are looked into; the one that reaches furthest is among them."""
    broken_off(repository, source, TOTAL)
    for number in range(6, 0, -1):
        for index in range(number):
            name = f"f{index}" if index < 3 else f"d1/f{index - 3}"
            (source / name).write_bytes(pattern(SIZE, 100 * number + index))
        broken_off(repository, source, number * SIZE)
    assert len(repository.checkpoints().counted) == 7
    assert back_up_tree(repository, source).bytes_read == TOTAL - 2 * SIZE
