"""Hard links that change while they are walked, and inode numbers that were given away again (2.2, 2.4)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.repository import Repository
from tests.engine.browse.builders import made_up, make_backup
from tests.engine.repositories import back_up_tree, entry_of, plan_latest, restore_latest
from tests.engine.trees import assert_same, describe, pattern

GROUP = (0, 5)


class AtTheLargeFile:
    """A bandwidth bucket that does something once, when the large file in the middle of the walk is read."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act: Callable[[], object] | None = act

    def take(self, count: int) -> None:
        if count > 100_000 and self._act is not None:
            act, self._act = self._act, None
            act()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_bytes(b"linked")
    for name in ("b", "x", "y"):
        os.link(root / "a", root / name)
    (root / "middle").write_bytes(pattern(500_000))
    return root


def group_sizes(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_nlink for path in root.iterdir()}


def test_a_member_that_vanishes_leaves_the_others_linked(tree: Path, repository: Repository, tmp_path: Path) -> None:
    result = back_up_tree(repository, tree, read_bucket=AtTheLargeFile((tree / "x").unlink))
    assert (result.notes, result.skipped, result.warnings) == (1, 0, 0)
    assert restore_latest(repository, tmp_path / "out", verify=True).exit_code == 0
    # The walk saw the directory before the name went.
    assert_same(describe(tree), describe(tmp_path / "out") | {b".": describe(tree)[b"."]})


def test_a_file_that_changes_between_two_of_its_names(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """Each name has what was read under it, whole; the next backup has the file as one again."""
    back_up_tree(repository, tree, read_bucket=AtTheLargeFile(lambda: (tree / "a").write_bytes(b"changed!")))
    assert restore_latest(repository, tmp_path / "out", verify=True).exit_code == 0
    out = tmp_path / "out"
    assert [(out / name).read_bytes() for name in "abxy"] == [b"linked"] * 2 + [b"changed!"] * 2
    assert group_sizes(out) == {"a": 2, "b": 2, "x": 2, "y": 2, "middle": 1}
    back_up_tree(repository, tree)
    assert restore_latest(repository, tmp_path / "next", verify=True).exit_code == 0
    assert_same(describe(tree), describe(tmp_path / "next"))


def test_a_number_given_away_again_during_the_walk_joins_no_strangers(
    tree: Path, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system is made to give the new file the number of the old one at once, as ext4 does."""
    old = (tree / "a").stat().st_ino

    def replace() -> None:
        for name in "abxy":
            (tree / name).unlink()
        (tree / "x").write_bytes(b"stranger")
        os.link(tree / "x", tree / "y")
        new = (tree / "x").stat().st_ino
        for module in ("source.walker.os.stat", "source.files.os.fstat"):
            real = os.stat if module.endswith(".stat") else os.fstat
            monkeypatch.setattr(f"repositories.engine.{module}", renumbered(real, new, old))

    back_up_tree(repository, tree, read_bucket=AtTheLargeFile(replace))
    monkeypatch.undo()
    assert entry_of(repository, b"x").link_group == entry_of(repository, b"a").link_group == (0, old)
    result = restore_latest(repository, tmp_path / "out", verify=True)
    assert (result.exit_code, result.verified_files) == (0, 5)
    out = tmp_path / "out"
    assert [(out / name).read_bytes() for name in "abxy"] == [b"linked"] * 2 + [b"stranger"] * 2
    assert group_sizes(out) == {"a": 2, "b": 2, "x": 2, "y": 2, "middle": 1}


def renumbered(real: Callable[..., os.stat_result], new: int, old: int) -> Callable[..., os.stat_result]:
    def look(*rest: object, **options: object) -> os.stat_result:
        found = real(*rest, **options)
        if found.st_ino != new:
            return found
        values, names = cast("tuple[tuple[float, ...], dict[str, Any]]", found.__reduce__()[1])
        return os.stat_result((values[0], old, *values[2:]), names)

    return look


DIFFERENT: dict[str, dict[str, Any]] = {
    "content": {"extents": (50,), "size": 50},
    "mode": {"mode": 0o100600},
    "owner": {"uid": 7},
    "time": {"mtime": 9},
    "type": {"type": EntryType.FIFO, "mode": 0o010644},
    "link": {"type": EntryType.LINK, "mode": 0o120777, "target": b"t", "size": 1},
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_members_that_differ_are_files_of_their_own(what: str, repository: Repository, tmp_path: Path) -> None:
    changed = dict(DIFFERENT[what])
    kind = EntryType(changed.pop("type", EntryType.FILE))

    def stranger(name: bytes) -> Entry:
        return made_up(name, kind, link_group=GROUP, **changed)

    paths = {name: made_up(name, link_group=GROUP) for name in (b"a", b"b")}
    make_backup(repository, paths | {name: stranger(name) for name in (b"x", b"y")})
    plan = plan_latest(repository, tmp_path / "out")
    assert (plan.created, plan.created_bytes) == (4, 50 if what == "content" else 0)
    restore_latest(repository, tmp_path / "out")
    found = {path.name: path.lstat() for path in (tmp_path / "out").iterdir()}
    assert found["a"].st_ino == found["b"].st_ino != found["x"].st_ino == found["y"].st_ino
    assert (found["a"].st_mode, found["x"].st_mode) == (paths[b"a"].mode, stranger(b"x").mode)
    assert (found["a"].st_mtime_ns, found["x"].st_mtime_ns) == (1, stranger(b"x").mtime)
