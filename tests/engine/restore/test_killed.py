"""A restore that is killed at any call that changes the target: run again, it ends as if nothing had happened.

That includes that nothing is left which the backup does not hold: every comparison is of whole trees.
"""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, publishing
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import IS_ROOT, Description, assert_same, describe
from tests.engine.users import ORDINARY, as_ordinary_user

CHANGING = (
    "chmod", "chown", "ftruncate", "link", "mkdir", "mkfifo", "mknod", "pwrite", "rename", "rmdir", "setxattr",
    "symlink", "unlink", "utime",
)  # fmt: skip
KILLED = 9
FILE_ACL = bytes.fromhex("0200000001000600ffffffff02000400e803000004000400ffffffff10000400ffffffff20000000ffffffff")
DIRECTORY_ACL = bytes.fromhex(
    "0200000001000700ffffffff02000500e803000004000500ffffffff10000500ffffffff20000000ffffffff"
)


def build(tree: Path, *, foreign: bool) -> None:
    (tree / "directory" / "closed").mkdir(parents=True)
    (tree / "directory" / "closed" / "inside").write_bytes(b"inside")
    (tree / "directory" / "closed").chmod(0o550)
    (tree / "directory" / "link").symlink_to("closed")
    os.mkfifo(tree / "directory" / "fifo", 0o604)
    (tree / "setuid").write_bytes(b"s")
    (tree / "setuid").chmod(0o4711)
    (tree / "a").write_bytes(b"linked")
    os.link(tree / "a", tree / "directory" / "b")
    (tree / "type").write_bytes(b"a file where a directory is")
    if foreign:
        os.chown(tree / "setuid", 12345, 54321)
        os.chown(tree / "directory", 12345, 54321)
        os.mknod(tree / "null", 0o20640, os.makedev(1, 3))
    try:
        os.setxattr(tree / "a", "user.mark", b"1")
        os.setxattr(tree / "setuid", "system.posix_acl_access", FILE_ACL)
        os.setxattr(tree / "directory", "system.posix_acl_default", DIRECTORY_ACL)
        os.setxattr(tree / "directory", "system.posix_acl_access", DIRECTORY_ACL)
    except OSError:
        pass
    if IS_ROOT and not foreign:
        for path in (tree, *tree.rglob("*")):
            os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)
    (tree / "setuid").chmod(0o4711)
    for path in (*tree.rglob("*"), tree):
        os.utime(path, ns=(10**18, 10**18 + 7), follow_symlinks=False)


def nothing(_: Repository, out: Path) -> None:
    """There is no target."""


def existing(_: Repository, out: Path) -> None:
    """A target of the user's, with nothing of the backup in it."""
    out.mkdir()
    (out / "mine").write_bytes(b"m")


def part_of_it(repository: Repository, out: Path) -> None:
    """All is there but one object of each directory, whose time tells that something was taken away."""
    restore_latest(repository, out)
    (out / "directory" / "closed").chmod(0o700)
    for name in ("directory/closed/inside", "directory/fifo", "setuid"):
        (out / name).unlink()
    (out / "directory" / "closed").chmod(0o550)


def other(_: Repository, out: Path) -> None:
    """Something else under many names, and more."""
    (out / "directory").mkdir(parents=True)
    (out / "directory" / "link").write_bytes(b"x")
    (out / "directory" / "fifo").symlink_to("/etc")
    (out / "directory" / "extra").write_bytes(b"x")
    (out / "setuid").mkdir()
    (out / "a").write_bytes(b"other")
    os.link(out / "a", out / "another name")
    (out / "type" / "full").mkdir(parents=True)
    (out / "type" / "full" / "x").write_bytes(b"x")


CASES: dict[str, tuple[Callable[[Repository, Path], None], dict[str, Any]]] = {
    "fresh": (nothing, {}),
    "into what is there": (existing, {}),
    "into a part of it": (part_of_it, {}),
    "over all": (other, {"overwrite": Overwrite.ALWAYS, "deletion": Deletion()}),
    "over what changed": (other, {"overwrite": Overwrite.IF_CHANGED, "deletion": Deletion()}),
}


class Killer:
    """Ends the process at the n-th changing call: before it, or directly after."""

    def __init__(self, after: int, *, before: bool) -> None:
        self.left = after
        self.before = before
        self.count = 0
        for name in CHANGING:
            setattr(os, name, self._wrapped(getattr(os, name)))
        opening = os.open
        making = self._wrapped(opening)
        os.open = lambda path, flags, *rest, **options: (making if flags & os.O_CREAT else opening)(
            path, flags, *rest, **options
        )
        publishing.rename_to_free = self._wrapped(publishing.rename_to_free)

    def _wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.before and self.count > self.left:
                os._exit(KILLED)
            result = call(*arguments, **options)
            if self.count > self.left:
                os._exit(KILLED)
            return result

        return wrapper


def killed(repository: Repository, out: Path, after: int, *, before: bool, order: dict[str, Any]) -> bool:
    """Restore in a child that is killed after so many changes; return False when it ended before that."""
    child = os.fork()
    if child == 0:
        try:
            Killer(after, before=before)
            restore_latest(repository, out, **order)
        except BaseException:  # noqa: BLE001 — the edge of the child
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


def sweep(repository: Repository, work: Path, case: str, step: int) -> list[Description]:
    """Kill at every `step`-th call in turn; return what each second run made."""
    prepare, order = CASES[case]
    found: list[Description] = []
    for after in range(0, 10_000, step):
        out = work / f"{after}"
        prepare(repository, out)
        if not killed(repository, out, after, before=after % 2 == 0, order=order):
            return found
        # What began without overwriting must end the same in every way.
        result = restore_latest(repository, out, **(order or {"overwrite": list(Overwrite)[after // step % 4]}))
        assert (result.failed, result.kept, result.damaged) == (0, 0, 0), (after, result)
        found.append(describe(out))
        shutil.rmtree(out, onerror=_open_up)
    raise AssertionError("it never ended")


def _open_up(call: Callable[..., Any], path: str, _: object) -> None:
    os.chmod(os.path.dirname(path), 0o700)
    call(path)


@pytest.mark.parametrize("user", ["root", "ordinary"])
@pytest.mark.parametrize("case", CASES)
def test_killed_at_any_change_it_is_just_run_again(case: str, user: str, tmp_path: Path) -> None:
    """2.9: every fifth change is a place to be killed at; the second run leaves what the backup holds."""
    if user == "root" and not IS_ROOT:
        pytest.skip("needs root")
    build(tmp_path / "tree", foreign=user == "root")
    repository = make_repository()
    back_up_tree(repository, tmp_path / "tree")
    before = describe(tmp_path / "tree")
    work = tmp_path / "work"
    work.mkdir()
    if user == "ordinary":
        for above in (tmp_path, *tmp_path.parents[:2]):
            above.chmod(above.stat().st_mode | stat.S_IXOTH)
        found = as_ordinary_user(lambda: sweep(repository, work, case, 5), work)
    else:
        found = sweep(repository, work, case, 5)
    assert len(found) > 5
    for description in found:
        description.pop(b"mine", None)
        if case == "into what is there":
            del description[b"."]
        expected = {path: facts for path, facts in before.items() if path in description or path != b"."}
        assert_same(expected, description)
