"""Running a part of a test in a process of its own: as an ordinary user, when the suite itself runs as root."""

import contextlib
import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ORDINARY = 65534
_T = TypeVar("_T")


def as_ordinary_user(call: Callable[[], _T], *owned: Path) -> _T:
    """Return what `call` returns in a child process without privileges; `owned` paths are given to its user first.

    Where the suite already runs as an ordinary user, `call` runs here.
    """
    if os.geteuid() != 0:
        return call()
    for path in owned:
        for each in (path, *path.rglob("*")):
            # A storage that nobody uses any more removes its scratch directory whenever it is collected.
            with contextlib.suppress(FileNotFoundError):
                os.chown(each, ORDINARY, ORDINARY, follow_symlinks=False)
    return in_a_child(lambda: _without_privileges(call))


def let_others_through(path: Path) -> None:
    """Open the way to `path` for an ordinary user: the directories of tests are closed to others."""
    for each in (path, *path.parents[:3]):
        mode = each.stat().st_mode
        if mode & 0o055 != 0o055 and each.stat().st_uid == os.geteuid():
            each.chmod(mode | 0o055)


def in_a_child(call: Callable[[], _T]) -> _T:
    """Return what `call` returns in a child process: what it does to itself (its user, its mounts) ends with it."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        os._exit(_run(call, send))
    os.close(send)
    with open(receive, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    failed, value = pickle.loads(data)
    assert not failed, value
    return value  # type: ignore[no-any-return]


def _without_privileges(call: Callable[[], _T]) -> _T:
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    return call()


def _run(call: Callable[[], object], send: int) -> int:
    try:
        answer: tuple[bool, object] = (False, call())
    except BaseException:  # noqa: BLE001 — the edge of the child: everything is told to the parent
        answer = (True, traceback.format_exc())
    with open(send, "wb") as pipe:
        pipe.write(pickle.dumps(answer))
    return 0
