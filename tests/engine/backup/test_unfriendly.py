"""Sources that change, vanish, are swapped, or cannot be read while they are backed up."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.errors import RepositoryError, SourceError, StorageFullError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import FLAG_CHANGED, FLAG_YOUNG
from repositories.engine.manifest.problems import ProblemKind, Severity, read_problems
from repositories.engine.repository import Repository, open_repository
from repositories.engine.source.files import open_regular
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, entry_of, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, assert_same, build_everything, describe, pattern
from tests.engine.users import as_ordinary_user


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_bytes(b"alpha")
    (root / "victim").write_bytes(pattern(900_000))
    (root / "z").write_bytes(b"omega")
    return root


def kinds(result: BackupResult) -> list[tuple[ProblemKind, bytes]]:
    return [(problem.kind, problem.path) for problem in result.problems]


class Meddler:
    """A bandwidth bucket that does something to the source at certain reads of a large file."""

    def __init__(self, act: Callable[[], None], times: int) -> None:
        self._act = act
        self._left = times

    def take(self, count: int) -> None:
        if count > 1000 and self._left:
            self._left -= 1
            self._act()


def grow(path: Path) -> Callable[[], None]:
    def act() -> None:
        with open(path, "ab") as file:
            file.write(b"more")

    return act


def test_a_file_that_changes_once_is_read_again_and_is_fine(tree: Path, repository: Repository) -> None:
    result = back_up_tree(repository, tree, read_bucket=Meddler(grow(tree / "victim"), 1))
    assert result.problems == []
    assert entry_of(repository, b"victim").size == 900_004
    restore_latest(repository, tree.parent / "out")
    assert (tree.parent / "out" / "victim").read_bytes() == (tree / "victim").read_bytes()


def test_a_file_that_never_holds_still_is_a_warning(tree: Path, repository: Repository) -> None:
    result = back_up_tree(repository, tree, read_bucket=Meddler(grow(tree / "victim"), 99))
    assert kinds(result) == [(ProblemKind.STILL_CHANGING, b"victim")]
    assert (result.warnings, result.skipped) == (1, 0)
    entry = entry_of(repository, b"victim")
    assert entry.flags == FLAG_YOUNG | FLAG_CHANGED
    assert entry.size == 900_008
    assert back_up_tree(repository, tree).bytes_read >= 900_000


def test_strict_raises_warnings_to_skipped(tree: Path, repository: Repository) -> None:
    result = back_up_tree(repository, tree, read_bucket=Meddler(grow(tree / "victim"), 99), strict=True)
    assert (result.warnings, result.skipped) == (0, 1)
    assert result.problems[0].severity is Severity.SKIPPED


def test_a_file_that_shrinks_under_the_reader(tree: Path, repository: Repository) -> None:
    sizes = iter([500_000, 400_000, 300_000])
    result = back_up_tree(
        repository, tree, read_bucket=Meddler(lambda: os.truncate(tree / "victim", next(sizes, 300_000)), 3)
    )
    assert result.skipped == 0
    entry = entry_of(repository, b"victim")
    out = tree.parent / "out"
    restore_latest(repository, out)
    assert (out / "victim").stat().st_size == entry.size
    assert pattern(900_000).startswith((out / "victim").read_bytes())


SWAPS: dict[str, tuple[Callable[[Path], None], ProblemKind]] = {
    "gone": (lambda path: None, ProblemKind.VANISHED),
    "link": (lambda path: path.symlink_to("/etc/passwd"), ProblemKind.TYPE_CHANGED),
    "fifo": (lambda path: os.mkfifo(path), ProblemKind.TYPE_CHANGED),
    "directory": (lambda path: path.mkdir(), ProblemKind.TYPE_CHANGED),
}
if IS_ROOT:
    SWAPS["device"] = (
        lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
        ProblemKind.TYPE_CHANGED,
    )


@pytest.mark.parametrize("swap", SWAPS)
def test_a_file_swapped_before_it_is_opened(
    swap: str, tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link is not followed, a FIFO never hangs the run, what is gone is only a note."""
    make, kind = SWAPS[swap]
    real = open_regular

    def swapped(name: bytes, directory: int) -> tuple[int, os.stat_result]:
        if name == b"victim":
            (tree / "victim").unlink()
            make(tree / "victim")
        return real(name, directory)

    monkeypatch.setattr("repositories.engine.backup.content.open_regular", swapped)
    result = back_up_tree(repository, tree)
    counts = {count.kind: count.severity for count in list_backups(repository)[-1].root.problem_counts}
    assert list(counts) == [str(kind)]
    assert (result.notes, result.skipped) == ((1, 0) if swap == "gone" else (0, 1))
    assert [path for path, _ in walk_entries(repository, list_backups(repository)[-1])] == [b"a", b"z"]
    assert [problem.detail for problem in result.problems] == ["no longer a regular file"] * result.skipped


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.EIO, "io_error"), (errno.ESTALE, "io_error"), (errno.EACCES, "permission")]
)
def test_errors_of_reading_concern_one_file(
    code: int, kind: str, tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.readv

    def fail(descriptor: int, buffers: list[memoryview]) -> int:
        if os.lseek(descriptor, 0, os.SEEK_CUR) > 0:
            raise OSError(code, os.strerror(code))
        return real(descriptor, [buffers[0][:65536]])

    monkeypatch.setattr("repositories.engine.backup.content.os.readv", fail)
    result = back_up_tree(repository, tree)
    backup = list_backups(repository)[-1]
    assert {count.kind: count.count for count in backup.root.problem_counts} == {kind: 1}
    assert result.files == 2
    stored = [(record.kind, record.path) for record in read_problems(repository.reader(), backup.root.problems)]
    assert stored == [(kind, b"victim")]
    assert result.skipped == 1


def test_unreadable_attributes_are_a_warning_and_the_file_is_in(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(target: object, **options: object) -> list[str]:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("repositories.engine.metadata.extended.os.listxattr", fail)
    result = back_up_tree(repository, tree)
    assert result.files == 3
    assert {problem.kind for problem in result.problems} == {ProblemKind.ATTRIBUTE}
    assert result.skipped == 0


def test_a_file_system_without_attributes_is_no_problem(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(target: object, **options: object) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("repositories.engine.metadata.extended.os.listxattr", fail)
    assert back_up_tree(repository, tree).problems == []


def test_an_ordinary_user_is_told_what_it_may_not_read(tmp_path: Path) -> None:
    """Unreadable files and directories are skipped and named; all else is backed up."""
    tree = tmp_path / "tree"
    (tree / "locked directory").mkdir(parents=True)
    (tree / "locked").write_bytes(b"secret")
    (tree / "locked empty").write_bytes(b"")
    (tree / "open").write_bytes(b"open")
    for name in ("locked", "locked empty", "locked directory"):
        (tree / name).chmod(0)

    def run() -> tuple[BackupResult, list[bytes]]:
        repository = make_repository()
        result = back_up_tree(repository, tree)
        return result, [path for path, _ in walk_entries(repository, list_backups(repository)[-1])]

    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:2]:
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    result, paths = as_ordinary_user(run, tree)
    assert paths == [b"locked directory", b"locked empty", b"open"]
    assert kinds(result) == [(ProblemKind.PERMISSION, b"locked"), (ProblemKind.PERMISSION, b"locked directory")]
    assert result.skipped == 2
    (tree / "locked directory").chmod(0o700)


def test_a_full_medium_ends_the_backup_and_leaves_earlier_ones(tmp_path: Path) -> None:
    """1.21: a repository's error is never taken for an unreadable file; with room again, it works again."""
    build_everything(tmp_path / "tree")
    storage = MemoryStorage()
    make_repository(storage)
    first = back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    (tmp_path / "tree" / "fresh").write_bytes(pattern(2_000_000, 9))
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    back_up_tree(open_repository(counting, PASSWORD), tmp_path / "tree")
    for at in range(1, counting.writes + 1):
        storage.objects.clear()
        storage.objects.update(kept)
        with pytest.raises(StorageFullError):
            back_up_tree(open_repository(FaultyStorage(storage, at=at), PASSWORD), tmp_path / "tree")
        assert [backup.id for backup in list_backups(open_repository(storage, PASSWORD))] == [first.backup_id]
    assert back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree").parent_id == first.backup_id
    before = describe(tmp_path / "tree")
    assert restore_latest(open_repository(storage, PASSWORD), tmp_path / "out").exit_code == 0
    assert_same(before, describe(tmp_path / "out"))


@pytest.mark.parametrize("fault", [Fault.KILL, Fault.TEAR])
def test_a_kill_at_any_write_leaves_whole_backups_only(fault: Fault, tmp_path: Path) -> None:
    """engine.md 1.3: whatever is listed afterwards restores identical, and the next backup works."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "old").write_bytes(pattern(600_000))
    storage = MemoryStorage()
    make_repository(storage)
    first = back_up_tree(open_repository(storage, PASSWORD), tree)
    (tree / "fresh").write_bytes(pattern(600_000, 9))
    before = describe(tree)
    kept = dict(storage.objects)
    counting = FaultyStorage(storage)
    back_up_tree(open_repository(counting, PASSWORD), tree)
    for at in range(1, counting.writes + 1):
        storage.objects.clear()
        storage.objects.update(kept)
        with pytest.raises((KilledError, RepositoryError)):
            back_up_tree(open_repository(FaultyStorage(storage, fault, at), PASSWORD), tree)
        survivors = list_backups(open_repository(storage, PASSWORD))
        assert [backup.id for backup in survivors][:1] == [first.backup_id]
        back_up_tree(open_repository(storage, PASSWORD), tree)
        out = tmp_path / f"out{at}"
        assert restore_latest(open_repository(storage, PASSWORD), out, verify=True).exit_code == 0
        assert_same(before, describe(out))


def test_a_parent_that_cannot_be_read_is_given_up_with_a_warning(tmp_path: Path) -> None:
    build_everything(tmp_path / "tree")
    storage = MemoryStorage()
    repository = make_repository(storage)
    back_up_tree(repository, tmp_path / "tree")
    for pack in repository.reader().index.packs().values():
        if pack.pack_class == 2:
            name = f"packs/{pack.pack_id.hex()[:2]}/{pack.pack_id.hex()}"
            storage.objects[name] = bytes(len(storage.objects[name]))
    result = back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    assert result.bytes_read > 6_000_000
    assert kinds(result) == [(ProblemKind.PARENT_UNREADABLE, b"")]
    assert result.problems[0].detail.startswith("the previous backup cannot be read, so that all files were read again")
    restored = restore_latest(open_repository(storage, PASSWORD), tmp_path / "out")
    assert (restored.exit_code, restored.files) == (0, result.files), "what describes it was stored again"


def test_a_root_that_may_not_be_read_is_an_error_of_the_source(tmp_path: Path) -> None:
    """1.19: never a green empty backup of what one may not look at."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "file").write_bytes(b"x")
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    (tmp_path / "closed").chmod(0)

    def run() -> str:
        with pytest.raises(SourceError) as caught:
            back_up_tree(make_repository(), tmp_path / "closed")
        return caught.value.message

    assert "Permission denied" in as_ordinary_user(run)
    (tmp_path / "closed").chmod(0o700)
