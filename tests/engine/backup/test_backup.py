"""A whole backup into a repository in memory: figures, change detection, and what ends it."""

import os
import time
from pathlib import Path

import pytest

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import (
    BackupNotFoundError,
    ConfigurationError,
    LeaseLostError,
    OperationCancelledError,
    SourceEmptyError,
    SourceError,
    SourceMissingError,
)
from repositories.engine.manifest.backups import find_backup, list_backups, list_directory, walk_entries
from repositories.engine.manifest.entries import FLAG_YOUNG, Entry
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository
from tests.engine.repositories import LaterClock, back_up_tree, local_repository, make_repository
from tests.engine.trees import add_socket, build_everything, pattern


@pytest.fixture
def repository() -> Repository:
    return make_repository()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "a").write_bytes(b"alpha")
    (root / "sub" / "b").write_bytes(b"beta" * 100)
    return root


def entry_of(repository: Repository, path: bytes) -> Entry:
    return dict(walk_entries(repository, list_backups(repository)[-1]))[path]


def test_the_second_run_reads_no_content(tmp_path: Path, repository: Repository) -> None:
    """A17: what did not change is not read again; the figures still describe everything (C9)."""
    tree = tmp_path / "tree"
    build_everything(tree)
    (tree / "times" / "4").unlink()  # from the future: always read again
    first = back_up_tree(repository, tree)
    second = back_up_tree(repository, tree)
    assert first.mode == "full"
    assert first.bytes_read > 6_000_000
    assert (second.mode, second.parent_id, second.chain) == ("incremental", first.backup_id, first.chain)
    assert (second.bytes_read, second.new_chunks, second.bytes_stored) == (0, 0, 0)
    assert second.logical_bytes == first.logical_bytes > 0
    assert (second.files, second.directories, second.links) == (first.files, first.directories, first.links)
    backups = list_backups(repository)
    assert [backup.root.lineage.sequence for backup in backups] == [1, 2]
    assert dict(walk_entries(repository, backups[0])) == dict(walk_entries(repository, backups[1]))


def test_only_what_changed_is_read(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    (tree / "a").write_bytes(b"ALPHA!")
    (tree / "new").write_bytes(b"n")
    (tree / "sub" / "b").unlink()
    second = back_up_tree(repository, tree)
    assert second.bytes_read == 7
    assert second.logical_bytes == 7
    assert [entry.name for entry in list_directory(repository, list_backups(repository)[-1], b"")] == [
        b"a",
        b"new",
        b"sub",
    ]


def test_content_replaced_under_the_same_size_and_mtime_is_seen(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    before = (tree / "a").stat()
    time.sleep(0.02)  # longer than a tick of the kernel's coarse clock
    (tree / "a").write_bytes(b"ALPHA")
    os.utime(tree / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert back_up_tree(repository, tree).bytes_read == 5


def test_young_files_are_read_again_once(tree: Path, repository: Repository) -> None:
    """A file written within 2 s of its reading may be written again under the same times."""
    back_up_tree(repository, tree, clock=SYSTEM_CLOCK)
    assert entry_of(repository, b"a").flags == FLAG_YOUNG
    again = back_up_tree(repository, tree)
    assert (again.bytes_read, again.new_chunks) == (405, again.new_chunks)
    assert entry_of(repository, b"a").flags == 0
    assert back_up_tree(repository, tree).bytes_read == 0


def test_new_metadata_is_stored_without_new_content(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    (tree / "a").chmod(0o600)
    second = back_up_tree(repository, tree)
    assert second.bytes_read == 5
    assert entry_of(repository, b"a").mode & 0o7777 == 0o600


def test_ignoring_ctime_and_inode_reads_less_and_still_stores_metadata(tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    (tree / "a").chmod(0o600)
    second = back_up_tree(repository, tree, ignore_ctime=True)
    assert second.bytes_read == 0
    assert entry_of(repository, b"a").mode & 0o7777 == 0o600
    old = (tree / "a").stat()
    (tree / "copy").write_bytes(b"alpha")
    os.utime(tree / "copy", ns=(0, old.st_mtime_ns))
    (tree / "copy").rename(tree / "a")
    assert back_up_tree(repository, tree, ignore_ctime=True, ignore_inode=True).bytes_read == 0
    assert entry_of(repository, b"a").inode == (tree / "a").stat().st_ino


def test_hard_links_are_read_once_and_counted_once(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(pattern(300_000))
    for name in ("b", "c"):
        os.link(tree / "a", tree / name)
    result = back_up_tree(repository, tree)
    assert (result.files, result.bytes_read, result.logical_bytes) == (3, 300_000, 300_000)
    entries = [entry_of(repository, name) for name in (b"a", b"b", b"c")]
    assert len({entry.link_group for entry in entries}) == 1
    assert all(entry.extents == entries[0].extents for entry in entries)
    second = back_up_tree(repository, tree)
    assert (second.bytes_read, second.logical_bytes) == (0, 300_000)
    (tree / "c").unlink()
    (tree / "b").unlink()
    third = back_up_tree(repository, tree)
    assert third.bytes_read == 300_000
    assert entry_of(repository, b"a").link_group is None


def test_holes_are_not_read(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with open(tree / "sparse", "wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"data")
    result = back_up_tree(repository, tree)
    assert result.logical_bytes == 1 << 40
    assert result.bytes_read <= 65536


def test_zeros_are_not_stored(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "zeros").write_bytes(bytes(20_000_000))
    result = back_up_tree(repository, tree)
    assert result.bytes_read == 20_000_000
    assert entry_of(repository, b"zeros").extents == (20_000_000,)


def test_a_file_of_many_chunks_is_found_unchanged_through_its_stream(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with open(tree / "many", "wb") as file:
        for number in range(100):
            file.seek(number * 200_000)
            file.write(b"%d" % number)
    back_up_tree(repository, tree)
    assert entry_of(repository, b"many").stream is not None
    assert back_up_tree(repository, tree).bytes_read == 0


def test_notes_are_counted_and_nothing_else(tree: Path, repository: Repository) -> None:
    add_socket(tree)
    (tree / "x.tmp").write_bytes(b"x")
    result = back_up_tree(repository, tree, excludes=("*.tmp",))
    assert (result.notes, result.skipped, result.warnings, result.problems) == (2, 0, 0, [])
    counts = {count.kind: count.count for count in list_backups(repository)[-1].root.problem_counts}
    assert counts == {"socket": 1, "excluded": 1}


def test_missing_and_empty_roots_never_make_a_green_backup(tree: Path, repository: Repository) -> None:
    """2.6: an unmounted file system looks like an empty directory."""
    with pytest.raises(SourceMissingError):
        back_up_tree(repository, tree / "gone")
    back_up_tree(repository, tree)
    for path in (tree / "a", tree / "sub" / "b"):
        path.unlink()
    (tree / "sub").rmdir()
    with pytest.raises(SourceEmptyError, match="is empty"):
        back_up_tree(repository, tree)
    assert len(list_backups(repository)) == 1
    assert back_up_tree(repository, tree, accept_new_root=True).files == 0
    assert back_up_tree(repository, tree).files == 0


def test_an_empty_directory_is_a_fine_first_source(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "tree").mkdir()
    assert back_up_tree(repository, tmp_path / "tree").mode == "full"


def test_one_file_is_a_source(tree: Path, repository: Repository) -> None:
    result = back_up_tree(repository, tree / "a")
    assert (result.files, result.directories, result.bytes_read) == (1, 0, 5)
    assert list_backups(repository)[-1].root.top_entry is None
    assert back_up_tree(repository, tree / "a").bytes_read == 0


def test_one_unreadable_file_as_source_is_an_error(
    tree: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: bytes, directory: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("repositories.engine.backup.content.open_regular", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        back_up_tree(repository, tree / "a")
    assert list_backups(repository) == []


def test_the_repositorys_own_parent_as_source(tmp_path: Path) -> None:
    """1.19: the repository does not back itself up."""
    repository = local_repository(tmp_path / "repository")
    (tmp_path / "file").write_bytes(b"x")
    skip = (os.fsencode(tmp_path / "repository"),)
    for _ in range(2):
        result = back_up_tree(repository, tmp_path, skip_paths=skip)
        assert (result.files, result.directories, result.notes) == (1, 0, 1)
    with pytest.raises(ConfigurationError, match="lies inside"):
        back_up_tree(repository, tmp_path / "repository", skip_paths=skip)


def test_cancel_leaves_nothing(tree: Path, repository: Repository) -> None:
    with pytest.raises(OperationCancelledError):
        back_up_tree(repository, tree, cancelled=lambda: True)
    assert list_backups(repository) == []


def test_confirm_forbids_the_commit(tree: Path, repository: Repository) -> None:
    def lost() -> None:
        raise LeaseLostError("no longer yours")

    with pytest.raises(LeaseLostError):
        back_up_tree(repository, tree, confirm=lost)
    assert list_backups(repository) == []
    assert back_up_tree(repository, tree).mode == "full"


def test_parents_hang_on_the_name_of_the_source(tree: Path, repository: Repository) -> None:
    first = back_up_tree(repository, tree, name="one")
    other = back_up_tree(repository, tree, name="two")
    assert (other.mode, other.chain) == ("full", other.backup_id)
    third = back_up_tree(repository, tree, name="one")
    assert third.parent_id == first.backup_id
    named = back_up_tree(repository, tree, name="one", parent=first.backup_id)
    assert named.parent_id == first.backup_id
    with pytest.raises(BackupNotFoundError, match="source"):
        back_up_tree(repository, tree, name="one", parent=other.backup_id)
    assert [backup.root.lineage.sequence for backup in list_backups(repository)] == [1, 2, 3, 4]


def test_each_manifest_links_the_heads_before_it(tree: Path, repository: Repository) -> None:
    """engine.md 5: a manifest that is linked and gone was lost or withheld."""
    ids = [back_up_tree(repository, tree, name=f"n{number}").manifest_id for number in range(3)]
    heads = [[head.hex() for head in backup.root.lineage.heads] for backup in list_backups(repository)]
    assert heads == [[], [ids[0]], [ids[1]]]


def test_find_backup_takes_parts_of_ids_and_latest(tree: Path, repository: Repository) -> None:
    results = [back_up_tree(repository, tree, name=name) for name in ("one", "two", "one")]
    for result in results:
        assert find_backup(repository, result.backup_id).id == result.backup_id
        assert find_backup(repository, find_backup(repository, result.backup_id).short_id).id == result.backup_id
        assert find_backup(repository, result.manifest_id[:12]).id == result.backup_id
    assert find_backup(repository, "latest").id == results[2].backup_id
    assert find_backup(repository, "latest", "two").id == results[1].backup_id
    for selector in ("nothing", "run", "run-", ""):
        with pytest.raises(BackupNotFoundError):
            find_backup(repository, selector)
    with pytest.raises(BackupNotFoundError):
        find_backup(repository, "latest", "three")


class Bucket:
    """Stands in for the bandwidth bucket: remembers what reading took."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, count: int) -> None:
        self.taken += count


def test_reading_takes_from_the_bucket_after_it_has_read(tmp_path: Path, repository: Repository) -> None:
    """C7: the bucket sees every byte that was read."""
    build_everything(tmp_path / "tree")
    bucket = Bucket()
    assert back_up_tree(repository, tmp_path / "tree", read_bucket=bucket).bytes_read == bucket.taken > 0


def test_progress_is_reported(tree: Path, repository: Repository) -> None:
    seen: list[Progress] = []
    result = back_up_tree(repository, tree, report=seen.append)
    assert [progress.phase for progress in seen][-2:] == ["storing", "committed"]
    assert seen[-1].files == result.files


def test_times_are_of_the_clock_that_is_passed_in(tree: Path, repository: Repository) -> None:
    clock = LaterClock(ahead=1e9)
    result = back_up_tree(repository, tree, clock=clock)
    assert result.finished_ns >= result.started_ns > SYSTEM_CLOCK.now_ns() + 10**17


def test_bad_rules_are_refused_before_anything_is_read(tree: Path, repository: Repository) -> None:
    with pytest.raises(ConfigurationError, match="rule 2"):
        back_up_tree(repository, tree, excludes=("fine", "!"))


def test_problem_kinds_have_stable_names() -> None:
    assert ProblemKind("permission") is ProblemKind.PERMISSION


def test_a_backup_that_the_session_cannot_see_is_no_parent(tree: Path, repository: Repository) -> None:
    """Another writer commits while our session is open: its pages are not in our index."""
    first = back_up_tree(repository, tree)
    with repository.begin_write() as session:
        (tree / "a").write_bytes(b"newer")
        back_up_tree(repository, tree)
        result = back_up_tree(repository, tree, session=session)
    assert result.parent_id == first.backup_id
    assert result.problems == []
    assert result.sequence == 3


def test_one_session_commits_several_backups(tree: Path, repository: Repository) -> None:
    """A4: the repository is opened once per run; each source is a backup of its own."""
    with repository.begin_write() as session:
        first = back_up_tree(repository, tree, session=session)
        second = back_up_tree(repository, tree, session=session)
        other = back_up_tree(repository, tree, session=session, name="other")
    assert (second.parent_id, second.bytes_read) == (first.backup_id, 0)
    assert (other.new_chunks, other.bytes_read) == (0, first.bytes_read)
    assert len(list_backups(repository)) == 3
