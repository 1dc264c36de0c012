"""What is there meets what comes: every pair of types, in every way to overwrite, with and without deleting.

The expectation is worked out here from the two types alone; a plan must foretell exactly what the restore does.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite
from tests.engine.repositories import back_up_tree, make_repository, plan_latest, restore_latest
from tests.engine.trees import IS_ROOT, Description, describe, make_socket
from tests.engine.users import as_ordinary_user

WHEN = 10**18
NEVER = Overwrite.NEVER
Way = tuple[Overwrite, bool, int]
OLDER, NEWER = WHEN - 10**9, WHEN + 10**9


def full_directory(path: Path) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "precious").write_bytes(b"p")
    (path / "link").symlink_to("/etc/passwd")


MAKERS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_bytes(b"contents"),
    "empty file": lambda path: path.write_bytes(b""),
    "link": lambda path: path.symlink_to("nowhere"),
    "link to a directory": lambda path: path.symlink_to("/etc"),
    "fifo": lambda path: os.mkfifo(path, 0o640),
    "empty directory": Path.mkdir,
    "full directory": full_directory,
}
COMING = dict(MAKERS)
THERE = {**MAKERS, "socket": make_socket, "file without rights": lambda path: path.touch(mode=0)}
if IS_ROOT:
    COMING["device"] = THERE["device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
WAYS: list[Way] = [
    (Overwrite.NEVER, False, OLDER), (Overwrite.IF_NEWER, False, OLDER), (Overwrite.IF_NEWER, False, NEWER),
    (Overwrite.IF_NEWER, True, OLDER), (Overwrite.IF_NEWER, True, NEWER), (Overwrite.IF_CHANGED, False, NEWER),
    (Overwrite.IF_CHANGED, True, NEWER), (Overwrite.ALWAYS, False, NEWER), (Overwrite.ALWAYS, True, NEWER),
]  # fmt: skip


def set_times(root: Path, when: int) -> None:
    for path in (*root.rglob("*"), root):
        os.utime(path, ns=(when, when), follow_symlinks=False)


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, Description]:
    """One backup with an object of each type, named after it; `hard` is a second name of the file."""
    tree = tmp_path_factory.mktemp("types") / "tree"
    tree.mkdir()
    for name, make in COMING.items():
        make(tree / name)
    os.link(tree / "file", tree / "hard")
    set_times(tree, WHEN)
    repository = make_repository()
    back_up_tree(repository, tree)
    return repository, describe(tree)


def is_directory(facts: dict[str, object]) -> bool:
    return facts["type"] == stat.S_IFDIR


def is_identical(old: dict[str, object], new: dict[str, object], overwrite: Overwrite) -> bool:
    """Return whether what is there counts as restored. Whoever writes to a FIFO or device changes its time."""
    compared = {"type", "mode", "device", "target", "content"}
    if new["type"] in (stat.S_IFREG, stat.S_IFLNK) and not (new["type"] == stat.S_IFLNK and overwrite is NEVER):
        compared.add("mtime")
    return all(old.get(key) == new.get(key) for key in compared)


def meeting(old: dict[str, object], new: dict[str, object], way: Way, *, full: bool) -> str:
    """Return what stands where both are and at least one is no directory: "old" or "new"."""
    overwrite, delete, when = way
    if overwrite is not Overwrite.ALWAYS and is_identical(old, new, overwrite):
        return "old"
    if overwrite is NEVER or (overwrite is Overwrite.IF_NEWER and when > WHEN):
        return "old"
    return "old" if full and not delete else "new"


def expected(before: Description, source: Description, way: Way) -> Description:
    """Return what must be in the target afterwards (times and modes of directories aside)."""
    fates = {b".": "both"}
    for path in sorted((before.keys() | source.keys()) - {b"."}):
        old, new = before.get(path), source.get(path)
        fate = fates[path.rpartition(b"/")[0] or b"."]
        if fate == "both":
            if old is None or new is None:
                fate = "new" if old is None or (way[1] and old["type"] != stat.S_IFSOCK) else "old"
            elif not (is_directory(old) and is_directory(new)):
                fate = meeting(old, new, way, full=any(each.startswith(path + b"/") for each in before))
        fates[path] = fate
    sides = {"old": before, "new": source, "both": source}
    return {path: sides[fate][path] for path, fate in fates.items() if path in sides[fate]}


def prepare(out: Path, there: str, source: Description, when: int) -> Description:
    out.mkdir()
    for name in sorted(path for path in source if b"/" not in path and path != b"."):
        THERE[there](out / os.fsdecode(name))
    if there == "file":
        for path in out.iterdir():
            path.write_bytes(b"CONTENTS")
    set_times(out, when)
    return describe(out)


def compare(found: Description, wanted: Description, context: object) -> None:
    assert sorted(found) == sorted(wanted), context
    for path, facts in wanted.items():
        without = {"group", "uid", "gid"} | ({"mtime", "mode"} if is_directory(facts) else set())
        seen = {key: value for key, value in found[path].items() if key not in without}
        assert seen == {key: value for key, value in facts.items() if key not in without}, (context, path)


def restore_over(there: str, work: Path, backed_up: tuple[Repository, Description]) -> None:
    repository, source = backed_up
    for number, way in enumerate(WAYS):
        overwrite, delete, when = way
        context = (there, *way)
        out = work / str(number)
        before = prepare(out, there, source, when)
        deletion = Deletion() if delete else None
        planned = plan_latest(repository, out, overwrite=overwrite, deletion=deletion)
        assert describe(out) == before, context
        result = restore_latest(repository, out, overwrite=overwrite, deletion=deletion, verify=True)
        compare(describe(out), expected(before, source, way), context)
        made = result.files + result.directories + result.links + result.others
        assert (planned.created + planned.replaced, planned.kept, planned.existing) == (
            made, result.kept, result.existing,
        ), context  # fmt: skip
        assert sorted(planned.kept_paths) == sorted(result.kept_paths), context
        assert (result.failed, result.damaged, result.exit_code) == (0, 0, 3 if result.kept else 0), context
        if delete:
            assert planned.deletion == result.deletion, context


@pytest.mark.parametrize("there", THERE)
def test_every_pair_of_types(there: str, tmp_path: Path, backed_up: tuple[Repository, Description]) -> None:
    """2.9: kept, merged or replaced, whole, and foretold."""
    restore_over(there, tmp_path, backed_up)


@pytest.mark.skipif(not IS_ROOT, reason="the suite runs as an ordinary user anyway")
@pytest.mark.parametrize("there", [name for name in THERE if name != "device"])
def test_every_pair_of_types_as_an_ordinary_user(there: str, tmp_path: Path) -> None:
    """2.14"""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, make in MAKERS.items():
        make(tree / name)
    os.link(tree / "file", tree / "hard")
    set_times(tree, WHEN)
    repository = make_repository()
    back_up_tree(repository, tree)
    (tmp_path / "work").mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)
    as_ordinary_user(lambda: restore_over(there, tmp_path / "work", (repository, describe(tree))), tmp_path)
