"""Another user exchanges parts of the target while root restores into a directory of theirs (engine.md 1.8; 2.12)."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import EngineError
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite
from tests.engine.hostile.evil import DIRECTORY, FIFO, LINK, Evil, hole, item
from tests.engine.repositories import restore_latest
from tests.engine.users import ORDINARY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the victim of this race is root")

_CALLS = ("open", "mkdir", "mkfifo", "symlink", "chown", "chmod", "utime", "stat", "link", "rename", "unlink", "rmdir")
OWNER = 12345


@pytest.fixture
def repository() -> Repository:
    """A tree whose every object gets an owner that gives the attacker power over whatever it lands on."""
    evil = Evil()
    mine = {"uid": OWNER, "gid": OWNER, "mode": 0o777}
    evil.tree(
        [
            (b"", [
                item(b"a", DIRECTORY, **mine),
                hole(b"f", link_group=[0, 1], **mine),
                item(b"l", LINK, target=b"f", size=1, **mine),
                item(b"p", FIFO, **mine),
            ]),
            (b"a", [item(b"b", DIRECTORY, **mine), hole(b"f", **mine), item(b"p", FIFO, **mine)]),
            (b"a/b", [hole(b"g", link_group=[0, 1], **mine), item(b"l", LINK, target=b"x", size=1, **mine)]),
        ]
    )  # fmt: skip
    return evil.repository


class Scene:
    """A target that belongs to an ordinary user, and things of root's outside it that must stay as they are."""

    def __init__(self, path: Path) -> None:
        self.target = path / "theirs" / "target"
        self.outside = path / "outside"
        (self.outside / "b").mkdir(parents=True)
        (self.outside / "secret").write_bytes(b"secret")
        os.mkfifo(self.outside / "pipe", 0o600)
        os.symlink("secret", self.outside / "link")
        self.target.mkdir(parents=True)
        (self.target / "there before").touch()
        for each in (self.target.parent, self.target):
            os.chown(each, ORDINARY, ORDINARY)
        self._before = self.facts()

    def facts(self) -> list[tuple[object, ...]]:
        """Return all that an escape would change; the number of links does not count, since anybody may add one."""
        return [
            (each.relative_to(self.outside), s.st_ino, s.st_mode, s.st_uid, s.st_gid, s.st_size, s.st_mtime_ns)
            for each in (self.outside, *sorted(self.outside.rglob("*")))
            for s in (each.lstat(),)
        ]

    def assert_untouched(self, when: object) -> None:
        assert self.facts() == self._before, when


def exchange_by_link(scene: Scene, name: str) -> None:
    """Put a symbolic link to root's directory in the place of a directory or a file."""
    with contextlib.suppress(OSError):
        os.rename(scene.target / name, scene.target.parent / "away")
        os.symlink(scene.outside, scene.target / name)


def exchange_by_hard_link(scene: Scene, name: str) -> None:
    """Put hard links to root's files in the place of whatever is there, temporary names too."""
    for found in os.listdir(scene.target):
        for ours in ("pipe", "link", "secret"):
            same = (
                os.lstat(scene.target / found).st_mode & 0o170000 == os.lstat(scene.outside / ours).st_mode & 0o170000
            )
            if same or found == name:
                with contextlib.suppress(OSError):
                    os.unlink(scene.target / found)
                    os.link(scene.outside / ours, scene.target / found, follow_symlinks=False)


Exchange = Callable[[Scene, str], None]


@contextlib.contextmanager
def before_call(number: int, act: Callable[[], None], patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Do something directly before the system call of this number that names a part of the target."""
    seen = [0]
    busy = [False]

    def wrap(call: Callable[..., object]) -> Callable[..., object]:
        def called(*args: object, **kwargs: object) -> object:
            if not busy[0]:
                seen[0] += 1
                if seen[0] == number:
                    busy[0] = True
                    act()
                    busy[0] = False
            return call(*args, **kwargs)

        return called

    with patch.context() as patched:
        for name in _CALLS:
            patched.setattr(os, name, wrap(getattr(os, name)))
        yield seen


@pytest.mark.parametrize("overwrite", [Overwrite.NEVER, Overwrite.ALWAYS])
@pytest.mark.parametrize(("exchange", "name"), [(exchange_by_link, "a"), (exchange_by_hard_link, "a")])
def test_no_moment_is_right_for_an_exchange(
    repository: Repository,
    exchange: Exchange,
    name: str,
    overwrite: Overwrite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One exchange before each system call in turn: every interleaving of a restore and one step of the attacker."""
    number, last = 1, 1
    while number <= last:
        scene = Scene(tmp_path / str(number))
        with before_call(number, lambda scene=scene: exchange(scene, name), monkeypatch) as seen:  # type: ignore[misc]
            with contextlib.suppress(EngineError):
                restore_latest(repository, scene.target, overwrite=overwrite)
            last = seen[0]
        scene.assert_untouched(number)
        number += 1
    assert last > 40


def test_an_attacker_who_never_stops_gains_nothing(repository: Repository, tmp_path: Path) -> None:
    """A real process of a real ordinary user, for a short while."""
    scene = Scene(tmp_path)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.chdir(scene.target)  # as root: the directories above are closed to the attacker
            os.setgroups([])
            os.setresgid(ORDINARY, ORDINARY, ORDINARY)
            os.setresuid(ORDINARY, ORDINARY, ORDINARY)
            _exchange_for_ever(os.fsencode(scene.outside))
        os._exit(0)
    try:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            for overwrite in Overwrite:
                with contextlib.suppress(EngineError):
                    restore_latest(repository, scene.target, overwrite=overwrite)
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the attacker gave up"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    scene.assert_untouched("the attacker was at it all the time")
    assert any(name.startswith("away-") for name in os.listdir(scene.target.parent)), "it never got hold of anything"


def _exchange_for_ever(outside: bytes) -> None:
    while True:
        for name in (b"a", b"f", b"p", b"l"):
            with contextlib.suppress(OSError):
                os.rename(name, b"../away-" + name)
            with contextlib.suppress(OSError):
                os.symlink(outside, name)
            with contextlib.suppress(OSError):
                os.unlink(name)
