"""2.4 on a real file system: each call of a walk may fail on its own, and sizes may lie."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.backup import BackupResult
from repositories.engine.errors import SourceError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import FLAG_CHANGED
from repositories.engine.manifest.problems import ProblemKind, Severity, read_problems
from repositories.engine.repository import Repository
from tests.engine.backup.test_dry_run import foretell
from tests.engine.repositories import back_up_tree, entry_of, restore_latest
from tests.engine.trees import IS_ROOT, make_socket, pattern
from tests.engine.users import as_ordinary_user, let_others_through
from tests.fuse.mounting import Mounted, mounted

SIZE = 900_000
NAMES = (b"a", b"link", b"sub", b"sub/inside", b"victim", b"z")
SKIPPED, WARNING, NOTE = Severity.SKIPPED, Severity.WARNING, Severity.NOTE


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Mounted]:
    """A tree on a file system of its own."""
    with mounted(tmp_path / "source") as file_system:
        root = file_system.path
        (root / "sub").mkdir()
        for name in ("a", "sub/inside", "z"):
            (root / name).write_text(name)
        (root / "victim").write_bytes(pattern(SIZE))
        os.setxattr(root / "victim", b"user.mark", b"1")
        (root / "link").symlink_to("a")
        yield file_system


def told(repository: Repository) -> list[tuple[str, bytes, int]]:
    """Return what the newest backup says went wrong, notes by kind alone."""
    root = list_backups(repository)[-1].root
    noted = [(each.kind, b"", each.severity) for each in root.problem_counts if each.severity == NOTE]
    listed = read_problems(repository.reader(), root.problems)
    return noted + [(each.kind, each.path, each.severity) for each in listed]


def stored(repository: Repository) -> set[bytes]:
    return {path for path, _ in walk_entries(repository, list_backups(repository)[-1])}


IO_ERROR, PERMISSION, GONE, ATTRIBUTE = "io_error", "permission", "vanished", "attribute"
FAULTS: list[tuple[str, int, bytes, str, int]] = [
    ("LOOKUP", errno.EIO, b"victim", IO_ERROR, SKIPPED),
    ("LOOKUP", errno.ESTALE, b"victim", IO_ERROR, SKIPPED),
    ("LOOKUP", errno.ENOENT, b"victim", GONE, NOTE),
    ("LOOKUP", errno.EACCES, b"sub", PERMISSION, SKIPPED),
    ("GETATTR", errno.EIO, b"victim", IO_ERROR, SKIPPED),
    ("GETATTR", errno.ESTALE, b"sub", IO_ERROR, SKIPPED),
    ("OPEN", errno.EACCES, b"victim", PERMISSION, SKIPPED),
    ("OPEN", errno.EIO, b"victim", IO_ERROR, SKIPPED),
    ("OPEN", errno.ESTALE, b"victim", IO_ERROR, SKIPPED),
    ("OPEN", errno.ENOENT, b"victim", GONE, NOTE),
    ("READ", errno.EIO, b"victim", IO_ERROR, SKIPPED),
    ("READ", errno.ESTALE, b"victim", IO_ERROR, SKIPPED),
    ("READLINK", errno.EIO, b"link", IO_ERROR, SKIPPED),
    ("READLINK", errno.ENOENT, b"link", GONE, NOTE),
    ("OPENDIR", errno.EACCES, b"sub", PERMISSION, SKIPPED),
    ("OPENDIR", errno.ESTALE, b"sub", IO_ERROR, SKIPPED),
    ("READDIR", errno.EIO, b"sub", IO_ERROR, SKIPPED),
    ("READDIR", errno.ESTALE, b"sub", IO_ERROR, SKIPPED),
    ("LISTXATTR", errno.EIO, b"victim", ATTRIBUTE, WARNING),
    ("GETXATTR", errno.EIO, b"victim", ATTRIBUTE, WARNING),
]


@pytest.mark.parametrize(("op", "code", "name", "kind", "severity"), FAULTS)
def test_each_call_may_fail_and_concerns_one_object(
    op: str, code: int, name: bytes, kind: str, severity: int, source: Mounted, repository: Repository
) -> None:
    """It is named with what was wrong, all else is backed up, and the next backup has it when that is over."""
    where = {"offset": SIZE // 2} if op == "READ" else {}
    source.switch(faults=[{"op": op, "errno": code, "name": name.decode(), **where}])
    result = back_up_tree(repository, source.path)
    assert told(repository) == [(kind, b"" if severity == NOTE else name, severity)]
    assert (result.skipped, result.warnings, result.notes) == tuple(
        int(severity == each) for each in (SKIPPED, WARNING, NOTE)
    )
    assert all(
        os.path.basename(path) == name or path.startswith(name + b"/") for path in set(NAMES) - stored(repository)
    )
    source.switch()
    whole = back_up_tree(repository, source.path)
    assert (whole.problems, stored(repository)) == ([], set(NAMES))
    restore_latest(repository, source.path.parent / "out", verify=True)
    assert (source.path.parent / "out" / "victim").read_bytes() == pattern(SIZE)


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE])
def test_a_listing_that_breaks_off(code: int, source: Mounted, repository: Repository) -> None:
    """What was listed before is in, the directory is told, and it is never taken for one that holds no more."""
    for number in range(40):
        (source.path / "sub" / f"{number:02}").write_bytes(b"x")
    source.switch(listed=10, faults=[{"op": "READDIR", "errno": code, "name": "sub", "offset": 20}])
    result = back_up_tree(repository, source.path)
    assert (told(repository), result.skipped) == ([(IO_ERROR, b"sub", SKIPPED)], 1)
    held = {path for path in stored(repository) if path.startswith(b"sub/")}
    assert held == {b"sub/inside", *(b"sub/%02d" % number for number in range(19))}


def test_files_that_say_0_hold_what_they_give(source: Mounted, repository: Repository) -> None:
    """As those that the kernel makes up: read to their end, and no backup takes them for unchanged."""
    (source.path / "proc like").write_bytes(pattern(300_000))
    source.switch(sizes={"proc like": 0})
    for _ in range(2):
        result = back_up_tree(repository, source.path)
        assert result.problems == []
        assert entry_of(repository, b"proc like").size == 300_000
    restore_latest(repository, source.path.parent / "out")
    assert (source.path.parent / "out" / "proc like").read_bytes() == pattern(300_000)


def test_closed_files_that_say_0_are_skipped_where_that_tells_nothing(
    source: Mounted, tmp_path: Path, repository: Repository
) -> None:
    """On a disk, an empty file that may not be read is in, whole. Where files are made up, nobody knows."""
    (source.path / "closed").write_bytes(b"something")
    (source.path / "closed").chmod(0)
    source.switch(sizes={"closed": 0})
    let_others_through(tmp_path)

    def run() -> tuple[int, list[tuple[str, bytes, int]]]:
        foretold = foretell(repository, source.path).skipped
        back_up_tree(repository, source.path)
        return foretold, told(repository)

    assert as_ordinary_user(run) == (1, [(PERMISSION, b"closed", SKIPPED)])


@pytest.mark.skipif(not Path("/proc/1/environ").exists(), reason="no /proc here")
def test_a_closed_file_of_the_kernel_is_no_backup(repository: Repository) -> None:
    """As a source of its own it says 0 and may not be read: that is no green backup of an empty file."""

    def run() -> str:
        with pytest.raises(SourceError) as caught:
            back_up_tree(repository, Path("/proc/1/environ"))
        return caught.value.message

    assert "Permission denied" in as_ordinary_user(run)


def test_a_file_without_end_is_cut_and_told(
    source: Mounted, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that says 0 and gives ever more is in as far as anybody would wait, with a warning."""
    monkeypatch.setattr("repositories.engine.backup.content._SIZELESS_LIMIT", 200_000)
    (source.path / "endless").write_bytes(pattern(300_000))
    source.switch(sizes={"endless": 0})
    back_up_tree(repository, source.path)
    assert told(repository) == [(ProblemKind.STILL_CHANGING, b"endless", WARNING)]
    assert entry_of(repository, b"endless").size == 200_000


@pytest.mark.parametrize("size", [10, SIZE, 3 * SIZE])
def test_a_file_that_holds_less_than_it_says(size: int, source: Mounted, repository: Repository) -> None:
    """What it gives is backed up, never filled up, and told."""
    (source.path / "short").write_bytes(b"short")
    source.switch(sizes={"short": size})
    back_up_tree(repository, source.path)
    assert told(repository) == [(ProblemKind.STILL_CHANGING, b"short", WARNING)]
    entry = entry_of(repository, b"short")
    assert (entry.size, bool(entry.flags & FLAG_CHANGED)) == (5, True)


class Once:
    """A bandwidth bucket that does something when the first large piece was read."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act

    def take(self, count: int) -> None:
        if count > 1000 and self._act is not None:
            act, self._act = self._act, None
            act()


SWAPS: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "gone": (lambda path: None, GONE, NOTE),
    "link": (lambda path: path.symlink_to("/etc/passwd"), "type_changed", SKIPPED),
    "link to itself": (lambda path: path.symlink_to(path.name), "type_changed", SKIPPED),
    "fifo": (os.mkfifo, "type_changed", SKIPPED),
    "socket": (make_socket, "type_changed", SKIPPED),
    "directory": (Path.mkdir, "type_changed", SKIPPED),
    "device": (lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)), "type_changed", SKIPPED),
    "block device": (lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(7, 250)), "type_changed", SKIPPED),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_file_swapped_while_it_is_read(swap: str, tmp_path: Path, repository: Repository) -> None:
    """Nothing is read through what took its place: neither /dev/zero without end nor a FIFO that nobody writes to."""
    make, kind, severity = SWAPS[swap]
    if "device" in swap and not IS_ROOT:
        pytest.skip("only root may make devices")
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a", "z"):
        (tree / name).write_text(name)
    victim = tree / "victim"
    victim.write_bytes(pattern(3 * SIZE))

    def act() -> None:
        victim.unlink()
        make(victim)

    result: BackupResult = back_up_tree(repository, tree, read_bucket=Once(act))
    assert told(repository) == [(kind, b"" if severity == NOTE else b"victim", severity)]
    assert stored(repository) == {b"a", b"z"}
    assert (result.skipped, result.notes) == (int(severity == SKIPPED), int(severity == NOTE))
    assert {problem.detail for problem in result.problems} <= {"no longer a regular file"}


def test_a_file_replaced_by_another_while_it_is_read(tmp_path: Path, repository: Repository) -> None:
    """As editors save: the one that has the name now is backed up, whole."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "victim").write_bytes(pattern(3 * SIZE))
    (tree / "new").write_bytes(pattern(2 * SIZE, 7))
    assert back_up_tree(repository, tree, read_bucket=Once(lambda: (tree / "new").rename(tree / "victim"))).skipped == 0
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "victim").read_bytes() == pattern(2 * SIZE, 7)
