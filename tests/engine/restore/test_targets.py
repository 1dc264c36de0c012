"""2.3: what a target cannot take is one counted warning for each class on each file system: no silence, no flood."""

import errno
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.repository import Repository
from tests.engine.repositories import back_up_tree, restore_latest
from tests.engine.trees import IS_ROOT, assert_same, describe
from tests.fuse import mounting, wire
from tests.fuse.mounting import mounted

EVEN = 1_600_000_000
TYPE = mounting.TYPE

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root may mount")


@pytest.fixture
def tree(tmp_path: Path, repository: Repository) -> Path:
    """A tree with one object for each thing that a file system may refuse, backed up."""
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    for name in ("attributes", "col:on", "fine", "first", "large", "long" * 10, "old", "owned", "setuid", "sub/fine"):
        (root / name).write_bytes(name.encode())
    (root / "large").write_bytes(b"x" * 30_000)
    os.link(root / "first", root / "second")
    (root / "link").symlink_to("fine")
    os.mkfifo(root / "fifo")
    os.mknod(root / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for name in ("user.a", "trusted.b", "security.c"):
        os.setxattr(root / "attributes", name, b"value")
    os.chown(root / "owned", 1000, 1001)
    os.chown(root / "setuid", 1000, 1001)
    (root / "setuid").chmod(0o4755)
    for path in (*root.rglob("*"), root):
        os.utime(path, (EVEN, EVEN), follow_symlinks=False)
    os.utime(root / "fine", ns=(0, EVEN * 10**9 + 1))
    os.utime(root / "old", (0, -300_000_000))
    back_up_tree(repository, root)
    return root


def fault(op: str, code: int, **which: Any) -> dict[str, Any]:
    return {"faults": [{"op": op, "errno": code, **which}]}


CASES: dict[str, tuple[dict[str, Any], dict[str, int], set[str]]] = {
    "nothing": ({}, {}, set()),
    "chown refused": (
        fault("SETATTR", errno.EPERM, fields=wire.UID | wire.GID), {"owner": 2, "special_bits": 1}, set(),
    ),
    "user attributes refused": (fault("SETXATTR", errno.EOPNOTSUPP, prefix="user."), {"xattr": 1}, set()),
    "all attributes refused": (
        fault("SETXATTR", errno.EOPNOTSUPP), {"xattr": 1, "xattr_security": 1, "xattr_trusted": 1}, set(),
    ),
    "modes cut without a word": ({"mode_mask": 0o700}, {"mode": 14}, set()),
    "setuid cut without a word": ({"mode_mask": 0o1777}, {"special_bits": 1}, set()),
    "times refused": (fault("SETATTR", errno.EPERM, fields=wire.MTIME), {"times": 15}, set()),
    "two seconds": ({"granularity_ns": 2_000_000_000}, {"time_precision": 1}, set()),
    "no time before 1970": ({"time_range_s": (0, 2**32)}, {"times": 1}, set()),
    "no hard links": (fault("LINK", errno.EPERM), {"hard_link": 1}, set()),
    "no devices": (fault("MKNOD", errno.EPERM, kind=stat.S_IFCHR), {"device": 1}, {"null"}),
    "no FIFOs": (fault("MKNOD", errno.EOPNOTSUPP, kind=stat.S_IFIFO), {"fifo": 1}, {"fifo"}),
    "no links": (fault("SYMLINK", errno.EPERM), {"link": 1}, {"link"}),
    "short names": ({"longest": 39}, {"name": 1}, {"long" * 10}),
    "names with a colon": ({"refuses": ":"}, {"name": 1}, {"col:on"}),
    "small files": ({"largest": 20_000}, {"file_size": 1}, {"large"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_class_is_told_once_with_its_file_system(
    case: str, tree: Path, tmp_path: Path, repository: Repository
) -> None:
    """All else is restored; what is refused as such is named and counted as failed, too."""
    switches, expected, failed = CASES[case]
    with mounted(tmp_path / "mounted", **switches) as target:
        result = restore_latest(repository, target.path / "out", verify=True)
        names = {str(path.relative_to(target.path / "out")) for path in (target.path / "out").rglob("*")}
    assert {each.kind: each.count for each in result.shortfalls} == expected
    for each in result.shortfalls:
        assert (each.file_system.mount_point, each.file_system.type) == (os.fsencode(tmp_path / "mounted"), TYPE)
        assert each.reason
    assert {os.fsdecode(path) for path, _ in result.failed_paths} == failed
    assert (result.failed, result.exit_code) == (len(failed), 3 if failed else 0)
    assert names == {str(path.relative_to(tree)) for path in tree.rglob("*")} - failed


def test_a_file_system_that_takes_all_gets_all(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """What the cases above leave out is there: compared by everything that it tells."""
    before = describe(tree)
    with mounted(tmp_path / "mounted") as target:
        assert restore_latest(repository, target.path / "out", verify=True).exit_code == 0
        assert_same(before, describe(target.path / "out"))


def test_hard_links_that_are_none_are_told_again(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """A second run finds files that are identical but for being one."""
    with mounted(tmp_path / "mounted", **fault("LINK", errno.EPERM)) as target:
        for _ in range(2):
            result = restore_latest(repository, target.path / "out")
            assert {each.kind: (each.count, each.example) for each in result.shortfalls} == {
                "hard_link": (1, b"second")
            }
            assert (result.exit_code, (target.path / "out" / "second").read_bytes()) == (0, b"first")


def test_each_file_system_below_the_target_is_told_apart(tree: Path, tmp_path: Path, repository: Repository) -> None:
    """A restore crosses mounts below its target; a directory that is mounted on counts for what is mounted there."""
    os.chown(tree / "sub", 1000, 1001)
    os.chown(tree / "sub" / "fine", 1000, 1001)
    back_up_tree(repository, tree)
    refusing = fault("SETATTR", errno.EPERM, fields=wire.UID | wire.GID)
    with mounted(tmp_path / "outer", **refusing) as outer:
        (outer.path / "out" / "sub").mkdir(parents=True)
        with mounted(outer.path / "out" / "sub", **refusing) as inner:
            result = restore_latest(repository, outer.path / "out")
            found = {each.file_system.mount_point: each for each in result.shortfalls if each.kind == "owner"}
            outside, inside = (found[os.fsencode(each.path)] for each in (outer, inner))
    assert (outside.count, outside.example in (b"owned", b"setuid")) == (2, True)
    assert (inside.count >= 1, inside.example.startswith(b"sub")) == (True, True)
    assert result.warnings["owner"] == outside.count + inside.count


def test_thousands_are_a_few_lines(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / "many"
    tree.mkdir()
    for number in range(300):
        (tree / f"{number:03}").write_bytes(b"")
        os.chown(tree / f"{number:03}", 1000, 1000)
        (tree / f"{number:03}:").symlink_to("x")
    back_up_tree(repository, tree)
    switches = {**fault("SETATTR", errno.EPERM, fields=wire.UID | wire.GID), "refuses": ":"}
    with mounted(tmp_path / "mounted", **switches) as target:
        result = restore_latest(repository, target.path / "out")
    assert Counter({each.kind: each.count for each in result.shortfalls}) == {"owner": 300, "name": 300}
    name, owner = (each.example for each in result.shortfalls)
    assert (name, len(owner)) == (b"000:", 3)
    assert (result.failed, len(result.failed_paths), result.exit_code) == (300, 100, 3)
