"""Checkpoints that are damaged, void, somebody else's, or put beside a prune: nothing is lost but time (2.15)."""

import stat
from pathlib import Path

import pytest

from repositories.engine.errors import CommitRefusedError, LeaseLostError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.commits import CheckpointRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import list_backups
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.packs.directory import PackClass
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import (
    SIZE,
    TOTAL,
    CancelWhenRead,
    Heard,
    broken_off,
    build_files,
    ended_by,
    held,
    often,
    require_restorable,
    root_of,
)
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern
from tests.engine.users import as_ordinary_user


@pytest.fixture
def source(tmp_path: Path) -> Path:
    build_files(tmp_path / "source")
    return tmp_path / "source"


def packs_of_metadata(repository: Repository) -> list[str]:
    packs = repository.reader().index.packs().values()
    return [object_name(ObjectKind.PACK, pack.pack_id) for pack in packs if pack.pack_class == PackClass.METADATA]


def spoil(storage: MemoryStorage, names: list[str]) -> None:
    for name in names:
        storage.objects[name] = bytes(len(storage.objects[name]))


def test_pages_of_a_checkpoint_that_are_damaged_are_given_up_with_a_warning(tmp_path: Path, source: Path) -> None:
    storage = MemoryStorage()
    repository = make_repository(storage)
    broken_off(repository, source, 6 * SIZE)
    spoil(storage, packs_of_metadata(repository))
    repository = open_repository(storage, PASSWORD)
    result = back_up_tree(repository, source)
    assert result.bytes_read == TOTAL
    (problem,) = result.problems
    assert problem.kind is ProblemKind.PARENT_UNREADABLE
    assert problem.detail.startswith("the checkpoint of 2")
    assert "so that what it knew was read again" in problem.detail
    require_restorable(open_repository(storage, PASSWORD), source, tmp_path / "out")


def test_an_older_checkpoint_stands_in_for_one_with_damaged_pages(tmp_path: Path, source: Path) -> None:
    storage = MemoryStorage()
    repository = make_repository(storage)
    with pytest.raises(LeaseLostError):
        often(repository, source, confirm=ended_by(LeaseLostError("taken over")))
    pages = root_of(repository).pages
    assert pages is not None
    place = repository.reader().locate(ChunkKind.PAGE, pages.id)
    assert place is not None
    spoil(storage, [object_name(ObjectKind.PACK, place.pack)])
    result = back_up_tree(open_repository(storage, PASSWORD), source)
    assert 0 < result.bytes_read < TOTAL
    assert len(result.problems) == 1
    require_restorable(open_repository(storage, PASSWORD), source, tmp_path / "out")


def test_a_damaged_checkpoint_is_told_and_an_older_one_taken(tmp_path: Path, source: Path) -> None:
    storage = MemoryStorage()
    repository = make_repository(storage)
    broken_off(repository, source, 4 * SIZE)
    (older,) = repository.object_names("checkpoints/")
    broken_off(repository, source, 3 * SIZE)
    (newer,) = (each.name for each in repository.object_names("checkpoints/") if each.name != older.name)
    spoil(storage, [newer])
    repository = open_repository(storage, PASSWORD)
    heard = Heard()
    result = back_up_tree(repository, source, log=heard)
    assert result.bytes_read == TOTAL - 3 * SIZE
    assert [level for level, _ in heard.lines] == ["warning", "info"]
    assert heard.lines[0][1] == "1 checkpoint cannot be read and tells nothing; run check"
    spoil(storage, [older.name])
    assert back_up_tree(open_repository(storage, PASSWORD), source).bytes_read == 0
    require_restorable(open_repository(storage, PASSWORD), source, tmp_path / "out")


def test_a_checkpoint_that_names_no_backup_is_passed_over(source: Path, repository: Repository) -> None:
    """Its root may be of a later format, or nothing at all."""
    repository.store.put(ObjectKind.CHECKPOINT, encode(CheckpointRecord(0, 1, 1, bytes(16), b"\x93no root")))
    assert back_up_tree(repository, source).bytes_read == TOTAL


@pytest.mark.parametrize("named", [True, False])
def test_a_sweep_decides_whether_a_checkpoint_counts(
    named: bool, tmp_path: Path, source: Path, repository: Repository
) -> None:
    """A prune that gave the writer up made its checkpoint void, unless it saw it and kept its packs."""
    broken_off(repository, source, 6 * SIZE)
    kept = repository.store.ids(ObjectKind.CHECKPOINT) if named else []
    segments = b"".join(sorted(repository.store.ids(ObjectKind.INDEX)))
    sweep = SweepRecord(5, bytes(16), 1, b"", b"".join(kept), segments, b"")
    repository.store.put(ObjectKind.SWEEP, encode(sweep))
    heard = Heard()
    result = back_up_tree(repository, source, log=heard)
    assert result.bytes_read == (TOTAL - 5 * SIZE if named else TOTAL)
    ((level, message),) = heard.lines
    assert level == ("info" if named else "warning")
    assert named or message == "a prune made the checkpoint of an unfinished backup void: what it knew is read again"
    require_restorable(repository, source, tmp_path / "out")


def test_chunks_that_are_gone_since_the_checkpoint_are_stored_again(tmp_path: Path, source: Path) -> None:
    """Each chunk of an entry that is taken over must be there: a lost pack of content costs reading, not data."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    broken_off(repository, source, 6 * SIZE)
    metadata = packs_of_metadata(repository)
    for stored in list(repository.object_names("packs/")):
        if stored.name not in metadata:
            del storage.objects[stored.name]
    result = back_up_tree(open_repository(storage, PASSWORD), source)
    assert result.bytes_read == TOTAL
    require_restorable(open_repository(storage, PASSWORD), source, tmp_path / "out")


def test_a_long_sleep_beside_a_prune_ends_the_backup_at_its_next_checkpoint(source: Path) -> None:
    """What it refers to may be gone: its commit would be refused hours later."""
    repository = make_repository()
    back_up_tree(repository, source)
    for name in ("f0", "d2/f0"):
        (source / name).write_bytes(pattern(SIZE, 90))
    read = CancelWhenRead(10**9)
    packs = frozenset(repository.reader().index.packs())

    def mark() -> bool:
        if not repository.store.ids(ObjectKind.MARK):
            repository.store.put(ObjectKind.MARK, encode(MarkRecord(3, bytes(16), 1, b"".join(sorted(packs)))))
        return False

    with pytest.raises(CommitRefusedError, match="a prune marked or removed"):
        often(repository, source, cancelled=mark, read_bucket=read)
    assert read.left == 10**9 - SIZE, "it did not go on reading"
    assert len(list_backups(repository)) == 1


def test_a_checkpoint_takes_the_newest_fence(source: Path, repository: Repository) -> None:
    """A mark of other packs does not concern it, and the sweep that follows does not make it void."""

    def mark() -> bool:
        if not repository.store.ids(ObjectKind.MARK):
            repository.store.put(ObjectKind.MARK, encode(MarkRecord(3, bytes(16), 1, bytes(16))))
        return False

    with pytest.raises(LeaseLostError):
        often(repository, source, cancelled=mark, confirm=ended_by(LeaseLostError("taken over")))
    repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(3, bytes(16), 1, b"", b"", b"", b"")))
    counted = repository.checkpoints().counted
    assert {each.fence for each in counted} == {3}
    assert len(counted) > 5
    assert back_up_tree(repository, source).bytes_read <= SIZE


def test_two_writers_of_one_source(tmp_path: Path, source: Path, repository: Repository) -> None:
    """The second begins in the middle of the first and goes on from its checkpoint; both commit and restore."""
    results = []
    asked = 0

    def begin_another() -> bool:
        nonlocal asked
        asked += 1
        if asked == 8:
            results.append(back_up_tree(repository, source))
        return False

    first = often(repository, source, cancelled=begin_another)
    assert first.bytes_read == TOTAL
    assert 0 < results[0].bytes_read < TOTAL
    backups = list_backups(repository)
    assert [backup.id for backup in backups] == [results[0].backup_id, first.backup_id]
    require_restorable(repository, source, tmp_path / "out")
    assert back_up_tree(repository, source).bytes_read == 0


def test_only_checkpoints_of_the_same_source_are_looked_into(
    tmp_path: Path, source: Path, repository: Repository
) -> None:
    broken_off(repository, source, 6 * SIZE)
    assert back_up_tree(repository, source, name="another name").bytes_read == TOTAL
    source.rename(tmp_path / "elsewhere")
    assert back_up_tree(repository, tmp_path / "elsewhere").bytes_read == TOTAL


def test_a_named_parent_is_gone_on_from_with_its_own_checkpoints(source: Path, repository: Repository) -> None:
    first = back_up_tree(repository, source)
    (source / "f0").write_bytes(pattern(SIZE, 91))
    second = back_up_tree(repository, source)
    (source / "f1").write_bytes(pattern(SIZE, 92))
    broken_off(repository, source, 2 * SIZE, parent=first.backup_id)
    assert back_up_tree(repository, source, parent=second.backup_id).bytes_read == SIZE
    assert back_up_tree(repository, source, parent=first.backup_id).bytes_read == SIZE


def test_a_backup_that_reads_nothing_puts_no_checkpoint(source: Path, repository: Repository) -> None:
    """The parent serves as well."""
    back_up_tree(repository, source)
    with pytest.raises(LeaseLostError):
        often(repository, source, confirm=ended_by(LeaseLostError("taken over")))
    assert repository.checkpoints().counted == []


def test_an_ordinary_user_goes_on_too_and_is_told_again_what_it_may_not_read(tmp_path: Path, source: Path) -> None:
    """2.14: locked files have no entry in a checkpoint, so that the next try meets them again."""
    (source / "f1").chmod(0)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[int, int, list[bytes]]:
        repository = make_repository()
        broken_off(repository, source, 5 * SIZE)
        known = sum(held(repository).values())
        result = back_up_tree(repository, source)
        return known, result.bytes_read, [problem.path for problem in result.problems]

    known, read, problems = as_ordinary_user(run, source)
    assert (known, read, problems) == (4 * SIZE, TOTAL - SIZE - 4 * SIZE, [b"f1"])
