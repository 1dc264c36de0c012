"""A walk that another process does ahead: the same to an object, whatever becomes of that process."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine import forked
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import OperationCancelledError
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source import ahead, ahead_process
from repositories.engine.source.ahead import AheadWalk
from repositories.engine.source.directory import Listing
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import open_root
from repositories.engine.source.walker import Walker, WalkRules
from tests.engine.trees import build_everything, remove_deep

FIELDS = ("mode", "ino", "dev", "nlink", "uid", "gid", "size", "mtime_ns", "ctime_ns", "rdev", "blocks")
Seen = list[object]

pytestmark = pytest.mark.skipif(forked.processors() < 2, reason="one processor: nobody walks ahead")


@pytest.fixture(autouse=True)
def _from_the_first_directory_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "ENOUGH", 0)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "tree"
    build_everything(root)
    for number in range(40):
        place = root / f"wide{number % 4}" / f"{number}"
        place.mkdir(parents=True)
        for name in range(number % 7):
            (place / f"{name}.tmp").write_bytes(b"x" * name)
    (root / "cache").mkdir()
    (root / "cache" / "CACHEDIR.TAG").write_bytes(b"Signature: 8a477f597d28d172789f06886806bc55")
    (root / "cache" / "junk").write_bytes(b"x")
    deep = root / "deep"
    for _ in range(90):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "last").write_bytes(b"x")
    yield root
    remove_deep(root)


class Walked:
    """One walk, and all that it said, in order."""

    def __init__(self, root: Path, **rules: object) -> None:
        self.said: Seen = []
        self.told: list[str] = []
        self.waited: Callable[[], None] = lambda: None
        made = WalkRules(ExcludeRules(("*3.tmp", "wide2/2*")), False, frozenset(), FileSystems(), exclude_caches=True)
        self.walker = Walker(open_root(os.fsencode(root), frozenset()), made, self._report)
        self.ahead = AheadWalk(self.walker, SYSTEM_CLOCK, lambda: self.waited(), self.told.append)

    def _report(self, kind: ProblemKind, path: bytes, detail: str) -> None:
        self.said.append((kind, path, detail))

    def run(self, directories: Iterator[Listing], at: Callable[[int], None] = lambda _: None) -> Seen:
        try:
            for directory in directories:
                self.said.append((directory.path, directory.device))
                for name, status in directory.items():
                    fields = [getattr(status, f"st_{field}") for field in FIELDS]
                    self.said.append((name, fields, directory.is_to_be_entered(name)))
                    at(len(self.said))
        finally:
            self.ahead.close()
            self.walker.close()
        return self.said

    @property
    def process(self) -> int:
        return self.ahead._pid if self.ahead._channel is not None else 0


def own_walk(root: Path) -> Seen:
    walked = Walked(root)
    return walked.run(walked.walker.directories())


def test_it_says_the_same_in_the_same_order(tree: Path) -> None:
    walked = Walked(tree)
    assert walked.run(walked.ahead.directories()) == own_walk(tree)
    assert walked.told == []
    with pytest.raises(ChildProcessError):
        os.waitpid(walked.ahead._pid, 0)


def test_so_it_does_in_small_parts(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_process, "_LOOKS", 1)
    walked = Walked(tree)
    assert walked.run(walked.ahead.directories()) == own_walk(tree)


@pytest.mark.parametrize("begun_after", [1, 5, 60])
def test_it_is_begun_in_the_middle(tree: Path, monkeypatch: pytest.MonkeyPatch, begun_after: int) -> None:
    monkeypatch.setattr(ahead, "ENOUGH", begun_after)
    walked = Walked(tree)
    assert walked.run(walked.ahead.directories()) == own_walk(tree)
    assert walked.ahead._pid


def test_wherever_the_process_dies_the_walk_goes_on(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed once so and so much has been said: nothing is left out, nothing comes twice, and it is told."""
    monkeypatch.setattr(ahead_process, "_LOOKS", 1)
    expected = own_walk(tree)
    deaths = 0
    for when in range(1, len(expected), 7):
        walked = Walked(tree)

        def kill(said: int, walked: Walked = walked, when: int = when) -> None:
            if said >= when and walked.process and not walked.told:
                os.kill(walked.process, signal.SIGKILL)
                # What it had told before is still read.

        assert walked.run(walked.ahead.directories(), kill) == expected, when
        deaths += len(walked.told)
        assert all("SIGKILL" in line and "goes on without it" in line for line in walked.told)
    assert deaths > 10


def test_a_process_that_is_stuck_stops_nobody_from_cancelling(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_process, "_LOOKS", 1)
    walked = Walked(tree)

    def cancel() -> None:
        raise OperationCancelledError("cancelled")

    def stop(_: int) -> None:
        if walked.process:
            os.kill(walked.process, signal.SIGSTOP)
            walked.waited = cancel

    with pytest.raises(OperationCancelledError):
        walked.run(walked.ahead.directories(), stop)
    with pytest.raises(ChildProcessError):
        os.waitpid(walked.ahead._pid, 0)


def test_the_process_ends_with_a_walk_that_is_given_up(tree: Path) -> None:
    walked = Walked(tree)
    directories = walked.ahead.directories()
    list(next(directories).items())
    list(next(directories).items())
    assert walked.process
    walked.ahead.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(walked.ahead._pid, 0)
    walked.walker.close()


def test_no_process_is_no_obstacle(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise BlockingIOError

    monkeypatch.setattr(forked, "fork", refuse)
    walked = Walked(tree)
    assert walked.run(walked.ahead.directories()) == own_walk(tree)
    assert not walked.ahead._pid


def test_a_directory_is_opened_where_it_was_listed_or_looked_at_anew(tree: Path) -> None:
    """Another one under its name is not read in its place; what is there now is listed, and the rest as it is now."""
    walked = Walked(tree)
    found: dict[bytes, list[bytes]] = {}
    for directory in walked.ahead.directories():
        names = found.setdefault(directory.path, [])
        for name, status in directory.items():
            if directory.again(name, status) is not None:
                names.append(name)
            else:
                directory.leave_out(name)
        if directory.path == b"wide0":
            (tree / "wide1").rename(tree / "moved")
            (tree / "wide1").mkdir()
            (tree / "wide1" / "instead").write_bytes(b"x")
            (tree / "wide3").rename(tree / "gone")
    walked.ahead.close()
    walked.walker.close()
    assert found[b"wide1"] == [b"instead"]
    assert not any(path.startswith(b"wide1/") for path in found)
    assert found.get(b"wide3", []) == []
    assert found[b"wide0/16"] == [b"0.tmp", b"1.tmp"]
    assert found[b"wide2"]


def test_what_was_seen_long_ago_is_looked_at_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow whoever reads is: nothing is taken for what it was long before."""
    expected = own_walk(tree)
    monkeypatch.setattr(ahead, "OLDEST_SECONDS", 0.0)
    walked = Walked(tree)
    assert walked.run(walked.ahead.directories()) == expected
    assert walked.told == []


def test_what_it_holds_open_is_its_own(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_process, "_LOOKS", 1)
    with (tmp_path / "other").open("wb"):
        walked = Walked(tree)
        directories = walked.ahead.directories()
        list(next(directories).items())
        list(next(directories).items())
        place = Path(f"/proc/{walked.process}/fd")
        held = {os.readlink(place / name) for name in os.listdir(place) if int(name) > 2}
        assert all(each.startswith(("socket:", str(tree))) for each in held), held
        walked.ahead.close()
        walked.walker.close()
