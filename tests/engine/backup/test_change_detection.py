"""What a backup reads again and what it takes from its parent, and content that is never read or stored (A17, C9)."""

import os
import time
from pathlib import Path

import pytest

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.manifest.backups import list_backups, list_directory, walk_entries
from repositories.engine.manifest.entries import FLAG_YOUNG
from repositories.engine.repository import Repository
from tests.engine.repositories import LaterClock, back_up_tree, entry_of
from tests.engine.trees import build_everything, pattern


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


def test_a_file_in_the_place_of_another_is_seen(tree: Path, repository: Repository) -> None:
    """Same name, size and mtime; many file systems give it the number of the old one, too."""
    back_up_tree(repository, tree)
    before = (tree / "a").stat()
    time.sleep(0.02)
    (tree / "a").unlink()
    (tree / "a").write_bytes(b"ALPHA")
    os.utime(tree / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert back_up_tree(repository, tree).bytes_read == 5
    time.sleep(0.02)
    (tree / "b").write_bytes(b"other")
    os.utime(tree / "b", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree / "b").rename(tree / "a")
    assert back_up_tree(repository, tree).bytes_read == 5


@pytest.mark.parametrize("behind", [60.0, 10.0**9])
def test_a_clock_that_is_behind_trusts_no_file(behind: float, tree: Path, repository: Repository) -> None:
    """What comes from the future may be changed under the same times; once the clock is right, it is trusted."""
    for _ in range(2):
        assert back_up_tree(repository, tree, clock=LaterClock(-behind)).bytes_read == 405
        assert entry_of(repository, b"a").flags == FLAG_YOUNG
    assert back_up_tree(repository, tree).bytes_read == 405
    assert back_up_tree(repository, tree).bytes_read == 0


def test_a_clock_that_jumps_between_backups_misses_nothing(tree: Path, repository: Repository) -> None:
    """The parent is the one made last, whatever its time says."""
    clocks = [LaterClock(10.0**8), LaterClock(-(10.0**8)), LaterClock(), LaterClock(10.0**10), LaterClock()]
    for number, clock in enumerate(clocks):
        time.sleep(0.02)
        (tree / "a").write_bytes(b"%5d" % number)
        os.utime(tree / "a", ns=(5, 10**18))
        assert back_up_tree(repository, tree, clock=clock).bytes_read in (5, 405)
    backups = list_backups(repository)
    assert [backup.root.lineage.parent for backup in backups] == [None, *(backup.id for backup in backups[:-1])]


def test_without_ctime_what_keeps_size_and_mtime_is_missed_and_anything_else_is_seen(
    tree: Path, repository: Repository
) -> None:
    """The option's price, which its documentation tells: for file systems whose ctime tells nothing."""
    back_up_tree(repository, tree)
    before = (tree / "a").stat()
    (tree / "a").write_bytes(b"ALPHA")
    os.utime(tree / "a", ns=(5, before.st_mtime_ns))
    assert back_up_tree(repository, tree, ignore_ctime=True).bytes_read == 0
    (tree / "a").write_bytes(b"ALPHA!")
    os.utime(tree / "a", ns=(5, before.st_mtime_ns))
    assert back_up_tree(repository, tree, ignore_ctime=True).bytes_read == 6
    (tree / "a").write_bytes(b"alpha!")
    os.utime(tree / "a", ns=(5, before.st_mtime_ns + 1))
    assert back_up_tree(repository, tree, ignore_ctime=True).bytes_read == 6


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
