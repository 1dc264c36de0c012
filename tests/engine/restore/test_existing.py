"""Restoring over what is there already: what is kept, what is replaced, and that nothing leads outside."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreResult
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import Description, assert_same, change, describe, pattern
from tests.engine.users import as_ordinary_user

NEWER, OLDER = 2 * 10**18, 10**17


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = make_repository()
    tree = tmp_path / "tree"
    (tree / "directory").mkdir(parents=True)
    (tree / "directory" / "inside").write_bytes(b"inside")
    (tree / "file").write_bytes(b"backup")
    os.utime(tree / "file", ns=(10**18, 10**18))
    (tree / "link").symlink_to("file")
    os.mkfifo(tree / "fifo")
    back_up_tree(repository, tree)
    return repository


@pytest.fixture
def out(tmp_path: Path, repository: Repository) -> Path:
    restore_latest(repository, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("overwrite", "data", "mtime", "replaced"),
    [
        (Overwrite.NEVER, b"edited", NEWER, False),
        (Overwrite.NEVER, b"edited", 10**18, False),
        (Overwrite.NEVER, b"backup", NEWER, False),
        (Overwrite.IF_NEWER, b"edited", NEWER, False),
        (Overwrite.IF_NEWER, b"edited", OLDER, True),
        (Overwrite.IF_CHANGED, b"edited", NEWER, True),
        (Overwrite.IF_CHANGED, b"edited", OLDER, True),
        (Overwrite.IF_CHANGED, b"other length", 10**18, True),
        (Overwrite.ALWAYS, b"edited", 10**18, True),
    ],
)
def test_a_file_that_differs(
    overwrite: Overwrite, data: bytes, mtime: int, replaced: bool, out: Path, repository: Repository
) -> None:
    change(out / "file", data, mtime)
    result = restore_latest(repository, out, overwrite=overwrite)
    assert (out / "file").read_bytes() == (b"backup" if replaced else data)
    assert (out / "file").stat().st_mtime_ns == (10**18 if replaced else mtime)
    assert result.kept_paths == ([] if replaced else [b"file"])
    assert result.exit_code == (0 if replaced else 3)


def test_always_replaces_what_is_identical_too(out: Path, repository: Repository) -> None:
    inode = (out / "file").stat().st_ino
    assert restore_latest(repository, out, overwrite=Overwrite.ALWAYS).files == 2
    assert (out / "file").stat().st_ino != inode


def test_the_old_file_stays_whole_until_the_new_one_is(
    out: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(out / "file", b"precious", NEWER)
    monkeypatch.setattr("repositories.engine.restore.writing.os.pwrite", lambda *rest: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert (out / "file").read_bytes() == b"precious"
    assert not [name for name in os.listdir(out) if name.startswith(".syncova")]


TYPES: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_bytes(b"x"),
    "link": lambda path: path.symlink_to("/etc"),
    "fifo": os.mkfifo,
    "empty directory": Path.mkdir,
}


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for below in path.iterdir():
            below.unlink()
        path.rmdir()
    else:
        path.unlink()


@pytest.mark.parametrize("there", TYPES)
@pytest.mark.parametrize("name", ["directory", "file", "link", "fifo"])
def test_another_type_is_there(there: str, name: str, out: Path, repository: Repository) -> None:
    """2.9: kept by default, replaced when asked; a directory of ours never leads through a link."""
    before = describe(out)
    if there == name or there.endswith(name):
        pytest.skip("the same type")
    clear(out / name)
    TYPES[there](out / name)
    kind = stat.S_IFMT((out / name).lstat().st_mode)
    kept = restore_latest(repository, out)
    assert stat.S_IFMT((out / name).lstat().st_mode) == kind
    assert os.fsencode(name) in kept.kept_paths
    assert kept.exit_code == 3
    assert not Path("/etc/inside").exists()
    replaced = restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert replaced.exit_code == 0
    assert_same(before, describe(out))


def test_a_full_directory_is_never_removed_for_a_file(out: Path, repository: Repository) -> None:
    (out / "file").unlink()
    (out / "file").mkdir()
    (out / "file" / "precious").write_bytes(b"p")
    result = restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert result.kept_paths == [b"file"]
    assert (out / "file" / "precious").read_bytes() == b"p"


def test_links_in_the_target_are_never_followed(tmp_path: Path, out: Path, repository: Repository) -> None:
    """1.8: neither as a file, nor as a parent, whatever the overwrite mode."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"precious")
    for overwrite in Overwrite:
        for name, target in (("file", outside / "file"), ("directory", outside)):
            clear(out / name)
            (out / name).symlink_to(target)
        restore_latest(repository, out, overwrite=overwrite)
        assert (outside / "file").read_bytes() == b"precious"
        assert os.listdir(outside) == ["file"]


def test_what_is_not_in_the_backup_stays(out: Path, repository: Repository) -> None:
    (out / "mine").write_bytes(b"m")
    restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert (out / "mine").read_bytes() == b"m"


def test_attributes_of_what_stood_there_do_not_survive(out: Path, repository: Repository) -> None:
    try:
        os.setxattr(out / "file", b"user.old", b"o")
    except OSError:
        pytest.skip("no extended attributes here")
    change(out / "file", b"edited", NEWER)
    restore_latest(repository, out, overwrite=Overwrite.ALWAYS)
    assert os.listxattr(out / "file") == []


def test_inherited_acls_do_not_stick(tmp_path: Path, repository: Repository) -> None:
    """A target with a default ACL gives it to everything made in it: the backup knows nothing of that."""
    target = tmp_path / "inheriting"
    target.mkdir()
    (target / "there").write_bytes(b"")
    acl = bytes.fromhex("0200000001000600ffffffff02000400e803000004000400ffffffff10000400ffffffff20000000ffffffff")
    try:
        os.setxattr(target, b"system.posix_acl_default", acl)
    except OSError:
        pytest.skip("no ACLs here")
    restore_latest(repository, target)
    before, after = describe(tmp_path / "tree"), describe(target)
    for path in before.keys() - {b"."}:
        assert before[path] == after[path]


def test_read_only_directories_of_an_ordinary_user(tmp_path: Path) -> None:
    """3e, 59: a directory that its mode closes to its owner does not stop a restore into it."""
    tree, out = tmp_path / "tree", tmp_path / "out"
    (tree / "closed" / "below").mkdir(parents=True)
    (tree / "closed" / "below" / "file").write_bytes(b"f")
    (tree / "closed" / "below").chmod(0o500)
    (tree / "closed").chmod(0o500)
    repository = make_repository()
    back_up_tree(repository, tree)
    out.mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[RestoreResult, RestoreResult, Description]:
        first = restore_latest(repository, out / "x")
        (out / "x" / "closed" / "below").chmod(0o700)
        (out / "x" / "closed" / "below" / "file").unlink()
        (out / "x" / "closed" / "below").chmod(0o500)
        again = restore_latest(repository, out / "x")
        found = describe(out / "x")
        for path in ("closed", "closed/below"):
            (out / "x" / path).chmod(0o700)
        return first, again, found

    before = describe(tree)
    first, again, found = as_ordinary_user(run, out)
    for path in ("closed", "closed/below"):
        (tree / path).chmod(0o700)
    assert first.failed == again.failed == 0
    assert again.files == 1
    for description in (before, found):
        del description[b"closed/below"]["mtime"]
    assert_same(before, found, ("uid", "gid"))


def test_a_file_system_that_keeps_no_modes(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What marks unfinished directories may not hold there; their times are set nevertheless."""
    monkeypatch.setattr("repositories.engine.restore.target.UNFINISHED", -1)
    os.utime(tmp_path / "tree" / "directory", ns=(7, 7))
    back_up_tree(repository, tmp_path / "tree")
    restore_latest(repository, tmp_path / "out")
    assert (tmp_path / "out" / "directory").stat().st_mtime_ns == 7
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "tree").stat().st_mode


def test_a_file_system_that_refuses_such_modes(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nothing is marked, files are renamed, and all is set at the end."""
    real = os.chmod

    def refuse(path: int | bytes | Path, mode: int) -> None:
        if mode & stat.S_ISVTX:
            raise PermissionError(1, "Operation not permitted")
        real(path, mode)

    monkeypatch.setattr("repositories.engine.restore.target.os.chmod", refuse)
    (tmp_path / "out").mkdir()
    result = restore_latest(repository, tmp_path / "out")
    assert (result.exit_code, result.warnings) == (0, {})
    assert_same(describe(tmp_path / "tree"), describe(tmp_path / "out"))


@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.ALWAYS])
def test_a_parent_swapped_for_a_link_during_the_restore(overwrite: Overwrite, tmp_path: Path) -> None:
    """2.12: files go on into the directory that was opened; nothing goes through the link."""
    tree, out, outside = tmp_path / "tree", tmp_path / "out", tmp_path / "outside"
    (tree / "directory" / "below").mkdir(parents=True)
    outside.mkdir()
    (outside / "below").mkdir()
    for number in range(5):
        (tree / "directory" / f"{number}").write_bytes(pattern(300_000, number))
        (tree / "directory" / "below" / f"{number}").write_bytes(pattern(9_000_000, number))
    os.link(tree / "directory" / "0", tree / "directory" / "below" / "hard")
    repository = make_repository()
    back_up_tree(repository, tree)
    out.mkdir()
    out.chmod(0o777)
    (out / "there").write_bytes(b"")

    class Swap:
        done = False

        def take(self, count: int) -> None:
            if not self.done and (out / "directory" / "below").exists():
                self.done = True
                (out / "directory").rename(out / "moved")
                (out / "directory").symlink_to(outside)

    swap = Swap()
    restore_latest(repository, out, overwrite=overwrite, hooks=Hooks(read_bucket=swap))  # type: ignore[arg-type]
    assert swap.done
    assert (out / "directory").is_symlink() or overwrite is Overwrite.ALWAYS
    assert os.listdir(outside) == ["below"]
    assert os.listdir(outside / "below") == []
