"""The demo's proof can fail: each kind of difference between two trees is found (A17)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from syncova_project.demo.compare import compare_trees

FAR_FUTURE_NS = 1 << 62


def make_tree(root: Path) -> None:
    """Make a small tree with a file, a directory, a symbolic link and a hard link."""
    root.mkdir()
    (root / "directory").mkdir(mode=0o750)
    (root / "file").write_bytes(b"content")
    (root / "directory" / "other").write_bytes(b"other")
    os.link(root / "file", root / "hard")
    (root / "link").symlink_to("file")
    for path in (root / "file", root / "directory" / "other", root / "directory", root):
        os.utime(path, ns=(1, 1_600_000_000_000_000_007))
    os.utime(root / "link", ns=(1, 1_600_000_000_000_000_007), follow_symlinks=False)


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """Return two identical trees."""
    for name in ("source", "restored"):
        make_tree(tmp_path / name)
    return tmp_path / "source", tmp_path / "restored"


def found(trees: tuple[Path, Path], taken_at_ns: int = FAR_FUTURE_NS, *, privileged: bool = True) -> list[str]:
    """Return what differs, as sentences."""
    source, restored = (os.fsencode(tree) for tree in trees)
    result = compare_trees(source, restored, taken_at_ns=taken_at_ns, privileged=privileged)
    return [what for _path, what in result.differences]


def keep_times(path: Path, change: Callable[[Path], object]) -> None:
    """Change a thing without leaving a trace in its times or its directory's."""
    before, above = path.lstat(), path.parent.lstat()
    change(path)
    if path.exists() or path.is_symlink():
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns), follow_symlinks=False)
    os.utime(path.parent, ns=(above.st_atime_ns, above.st_mtime_ns))


def test_identical_trees_are_equal(trees: tuple[Path, Path]) -> None:
    assert found(trees) == []


def relink(path: Path) -> None:
    """Point a symbolic link elsewhere, with a target of the same length."""
    path.unlink()
    path.symlink_to("filf")


def unshare(path: Path) -> None:
    """Replace a hard link by a file of its own."""
    path.unlink()
    path.write_bytes(b"content")


CHANGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "one byte": ("directory/other", lambda path: path.write_bytes(b"othEr"), "content differs"),
    "missing": ("directory/other", lambda path: path.unlink(), "missing in the restored tree"),
    "one too many": ("directory/more", lambda path: path.write_bytes(b""), "only in the restored tree"),
    "mode": ("directory", lambda path: path.chmod(0o700), "mode 40700 instead of 40750"),
    "link": ("link", relink, "link target differs"),
    "hard link": ("hard", unshare, "hard links differ"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_single_change_is_found(trees: tuple[Path, Path], change: str) -> None:
    name, act, sentence = CHANGES[change]
    path = trees[1] / name
    if path.exists() or path.is_symlink():
        keep_times(path, act)
    else:
        above = path.parent.lstat()
        act(path)
        os.utime(path.parent, ns=(above.st_atime_ns, above.st_mtime_ns))
    assert sentence in found(trees)


def test_a_nanosecond_is_found(trees: tuple[Path, Path]) -> None:
    os.utime(trees[1] / "file", ns=(1, 1_600_000_000_000_000_008))
    assert "mtime 1600000000000000008 instead of 1600000000000000007 ns" in found(trees)


def test_an_extended_attribute_is_found(trees: tuple[Path, Path]) -> None:
    try:
        os.setxattr(trees[0] / "file", "user.note", b"x")
    except OSError:
        pytest.skip("this file system knows no user attributes")
    assert "extended attributes differ" in found(trees)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_owners_count_only_where_they_can_be_set(trees: tuple[Path, Path]) -> None:
    os.chown(trees[1] / "directory", 12345, 12345)
    assert found(trees) == [f"owner 12345:12345 instead of {os.geteuid()}:{os.getegid()}"]
    assert found(trees, privileged=False) == []


def test_what_changed_after_the_backup_is_not_judged(trees: tuple[Path, Path]) -> None:
    (trees[1] / "file").write_bytes(b"CONTENT")
    assert found(trees, taken_at_ns=0) == []
