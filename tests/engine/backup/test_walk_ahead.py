"""Backups beside a process that walks and reads ahead: nothing of what they hold depends on it, or on how it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from repositories.engine import forked
from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import FLAG_YOUNG, Entry
from repositories.engine.repository import Repository
from repositories.engine.source import ahead, ahead_process, reading_ahead
from repositories.engine.source.ahead_messages import ContentAhead
from repositories.engine.source.files import open_regular
from repositories.engine.throttle import Throttle
from tests.engine.repositories import back_up_tree, entry_of, restore_latest
from tests.engine.trees import assert_same, build_everything, describe

pytestmark = pytest.mark.skipif(forked.processors() < 2, reason="one processor: nobody walks ahead")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Return a tree of everything, with more small content than the shared memory holds."""
    root = tmp_path / "large"
    build_everything(root)
    for number in range(300):
        place = root / f"d{number % 10}"
        place.mkdir(exist_ok=True)
        (place / f"{number}").write_bytes(bytes([number % 251 + 1]) * (number * 331 + 1))
    os.setxattr(root / "d1" / "1", b"user.kept", b"x" * 500)
    (root / "d1" / "empty").write_bytes(b"")
    (root / "d1" / "zeros").write_bytes(bytes(3000))
    return root


def entries(repository: Repository) -> list[tuple[bytes, Entry]]:
    return list(walk_entries(repository, list_backups(repository)[-1]))


def test_a_first_backup_holds_the_same(
    large: Path, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = ahead.AheadWalk.content

    def counted(self: ahead.AheadWalk, content: ContentAhead) -> memoryview:
        read.append(content.end)
        return real(self, content)

    monkeypatch.setattr(ahead.AheadWalk, "content", counted)
    first = back_up_tree(repository, large)
    assert len(read) > 250
    with_it = entries(repository)
    restore_latest(repository, tmp_path / "out")
    assert_same(describe(large), describe(tmp_path / "out"))
    monkeypatch.setattr(ahead, "ENOUGH", 10**9)
    # Another source's name: nothing is known of it, so that all of it is read again.
    second = back_up_tree(repository, large, name="again")
    assert entries(repository) == with_it
    for field in ("files", "directories", "links", "others", "logical_bytes", "bytes_read", "problem_counts"):
        assert getattr(first, field) == getattr(second, field), field
    assert second.new_chunks == 0


def test_a_file_that_changes_as_it_is_read_is_read_by_the_backup(
    large: Path, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def appended(name: bytes, directory: int) -> tuple[int, os.stat_result]:
        if name.startswith(b"2"):
            with open(name, "ab", opener=lambda path, flags: os.open(path, flags, dir_fd=directory)) as file:
                file.write(b" and more")
        return open_regular(name, directory)

    monkeypatch.setattr(reading_ahead, "open_regular", appended)
    result = back_up_tree(repository, large)
    assert result.problem_counts == ()
    restore_latest(repository, tmp_path / "out")
    assert_same(describe(large), describe(tmp_path / "out"))
    assert (tmp_path / "out" / "d9" / "29").read_bytes().endswith(b" and more")


@pytest.mark.parametrize("beats", [1, 5, 12])
def test_a_process_that_is_killed_costs_nothing(
    large: Path, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beats: int
) -> None:
    monkeypatch.setattr(ahead_process, "_LOOKS", 8)
    told: list[str] = []
    real, begun = forked.fork, []

    def fork(*how: Callable[[], object]) -> int:
        begun.append(real(*how))  # type: ignore[arg-type]
        return begun[-1]

    monkeypatch.setattr(forked, "fork", fork)
    parts: list[object] = []
    next_part = ahead.AheadWalk.next_part

    def killing(self: ahead.AheadWalk) -> object:
        parts.append(None)
        if len(parts) == beats:
            os.kill(begun[-1], signal.SIGKILL)
        return next_part(self)

    monkeypatch.setattr(ahead.AheadWalk, "next_part", killing)
    result = back_up_tree(repository, large, log=lambda level, line: told.append(line))
    assert ["SIGKILL" in line for line in told] == [True]
    assert result.problem_counts == ()
    restore_latest(repository, tmp_path / "out")
    assert_same(describe(large), describe(tmp_path / "out"))


def test_what_was_looked_at_sooner_is_young_by_that_time(large: Path, repository: Repository) -> None:
    """The backup comes to it ten seconds later: what is changed meanwhile could have the same times."""
    backup = os.getpid()

    class Passing:
        def now_ns(self) -> int:
            return SYSTEM_CLOCK.now_ns() + (10**10 if os.getpid() == backup else 0)

        def monotonic(self) -> float:
            return SYSTEM_CLOCK.monotonic()

    place = large / "d1"
    (place / "below").mkdir()
    (place / "link").symlink_to("somewhere")
    (place / "new").write_bytes(b"just now")
    back_up_tree(repository, large, clock=Passing())
    assert entry_of(repository, b"d1/new").flags & FLAG_YOUNG
    # These are looked at once more, since they are opened then.
    assert not any(entry_of(repository, b"d1/" + name).flags & FLAG_YOUNG for name in (b"below", b"link"))


def test_with_a_limit_on_reading_nothing_is_read_ahead(
    large: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("unlimited")

    monkeypatch.setattr(ahead.AheadWalk, "content", never)
    back_up_tree(repository, large, read_bucket=Throttle(10**9, monotonic=SYSTEM_CLOCK.monotonic, sleep=time.sleep))
    # Nor is it when most of it is known.
    back_up_tree(repository, large)


def test_memory_that_was_written_over_is_no_content(
    large: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ahead.AheadWalk.content

    def elsewhere(self: ahead.AheadWalk, content: ContentAhead) -> memoryview:
        return real(self, msgspec.structs.replace(content, begin=content.begin + 1, end=content.end + 1))

    monkeypatch.setattr(ahead.AheadWalk, "content", elsewhere)
    with pytest.raises(IntegrityError, match="written over"):
        back_up_tree(repository, large)


def test_directories_that_come_and_go_leave_no_listing_without_an_entry(
    large: Path, repository: Repository, tmp_path: Path
) -> None:
    """Renamed away and back all the time: what is in the backup restores, and a check finds nothing."""
    places = [large / f"d{number}" / "sub" for number in range(10)]
    for place in places:
        for number in range(30):
            (place / f"e{number}").mkdir(parents=True)
            (place / f"e{number}" / "in").write_bytes(b"x")
    swaps = (
        "import itertools, os, sys, time\n"
        "for place in itertools.cycle(sys.argv[1:]):\n"
        "    os.rename(place, place + '2'); time.sleep(0.0003); os.rename(place + '2', place)\n"
    )
    for turn in range(4):
        with subprocess.Popen([sys.executable, "-c", swaps, *map(str, places)]) as swapping:
            back_up_tree(repository, large, name=f"turn {turn}")
            swapping.kill()
    report = check(repository, CheckRequest(read_data=True, remember=False), Hooks())
    assert report.problems == []
