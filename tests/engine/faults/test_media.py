"""Media that are full, closed or taken away in the middle, writers that sleep, clocks that jump (3.12)."""

import contextlib
import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import CommitRefusedError, StorageFullError, StorageReadOnlyError
from repositories.engine.holder import Holder
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneRequest, others, prune
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.faults.oracle import Oracle, change_tree
from tests.engine.mounts import LIBC, with_mounts
from tests.engine.prune.builders import back_up, files, forget, reopened, require_backup, run
from tests.engine.prune.test_full_medium import fill, mount_small
from tests.engine.prune.test_other_sessions import Seconds
from tests.engine.repositories import CHEAP, PASSWORD, LaterClock, local_repository, make_repository
from tests.engine.users import as_ordinary_user, let_others_through

HOUR, YEAR = 3600.0, 365 * 86400.0
_REMOUNT_READ_ONLY = 0x20 | 0x1


def on_a_small_medium(root: Path) -> int:
    """Back up with more and more room left, until there is enough; what is there stays whole at every step."""
    medium = root / "medium"
    medium.mkdir()
    mount_small(medium, 6 << 20)
    storage = LocalStorage(str(medium / "repository"))
    repository = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=1 << 20)).repository
    content = files(1, 2, 3, size=30_000)
    kept = back_up(repository, root / "tree", content)
    refused = 0
    for room in range(60):
        fill(medium)
        os.truncate(medium / "filler", (medium / "filler").stat().st_size - room * 8192)
        try:
            back_up(reopened(storage), root / "tree", files(4, 5, size=100_000))
        except StorageFullError:
            refused += 1
        else:
            break
        assert [each.manifest_id for each in list_backups(reopened(storage))] == [kept]
        require_backup(reopened(storage), kept, content, root / f"restored {room}")
    os.unlink(medium / "filler")
    assert check(reopened(storage), CheckRequest(read_data=True, remember=False), Hooks()).problems == []
    back_up(reopened(storage), root / "tree", files(6))
    assert run(storage).finished
    require_backup(reopened(storage), kept, content, root / "at last")
    return refused


def test_a_full_medium_at_every_write(tmp_path: Path) -> None:
    """ENOSPC of a real file system: nothing half is listed, and with room again all goes on."""
    assert with_mounts(lambda: on_a_small_medium(tmp_path)) >= 8


def on_a_closed_medium(root: Path) -> None:
    medium = root / "medium"
    medium.mkdir()
    mount_small(medium, 6 << 20)
    storage = LocalStorage(str(medium / "repository"))
    repository = make_repository(storage)
    content = files(1, 2)
    kept = back_up(repository, root / "tree", content)
    back_up(repository, root / "tree", files(3))
    assert LIBC.mount(b"none", os.fsencode(medium), b"tmpfs", _REMOUNT_READ_ONLY, None) == 0
    require_backup(reopened(storage), kept, content, root / "restored")
    assert check(reopened(storage), CheckRequest(read_data=True), Hooks()).problems == []
    for act in (lambda: back_up(reopened(storage), root / "tree", files(9)), lambda: run(storage)):
        with pytest.raises(StorageReadOnlyError):
            act()
    assert LIBC.mount(b"none", os.fsencode(medium), b"tmpfs", 0x20, None) == 0
    back_up(reopened(storage), root / "tree", files(9))
    assert run(storage).finished


def test_a_medium_that_is_read_only_is_read(tmp_path: Path) -> None:
    with_mounts(lambda: on_a_closed_medium(tmp_path))


class ClosingStorage(LocalStorage):
    """Loses the permission to write at its n-th put."""

    def __init__(self, path: str, at: int) -> None:
        super().__init__(path)
        self.left = at

    def _settle(self, path: str, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            close(Path(self.path), closed=True)
        super()._settle(path, name)


def close(path: Path, *, closed: bool) -> None:
    for directory, _, _ in os.walk(path):
        os.chmod(directory, 0o500 if closed else 0o700)


def lose_permission(root: Path) -> int:
    path = root / "repository"
    content = files(1, 2)
    kept = back_up(local_repository(path), root / "tree", content)
    refused, at = 0, 0
    while True:
        at += 1
        try:
            back_up(reopened(ClosingStorage(str(path), at)), root / "tree", files(3, 4, at + 10))
        except StorageReadOnlyError:
            refused += 1
        else:
            break
        finally:
            require_backup(reopened(LocalStorage(str(path))), kept, content, root / f"restored {at}")
            close(path, closed=False)
        # The first copy of a manifest could not be taken back: that backup is whole, and there.
        repository = reopened(LocalStorage(str(path)))
        others_there = [each for each in list_backups(repository) if each.manifest_id != kept]
        for number, each in enumerate(others_there):
            require_backup(repository, each.manifest_id, files(3, 4, at + 10), root / f"other {at} {number}")
            forget(repository, each.manifest_id)
    back_up(reopened(LocalStorage(str(path))), root / "tree", files(5))
    # The leases that could not be taken back are those of this process, which lives on: a prune would wait for it.
    for lease in (path / "sessions").iterdir():
        lease.unlink()
    run(LocalStorage(str(path)))
    require_backup(reopened(LocalStorage(str(path))), kept, content, root / "at last")
    return refused


def test_permission_that_is_lost_in_the_middle(tmp_path: Path) -> None:
    """As an ordinary user, whom the mode of a directory stops."""
    place = tmp_path / "place"
    place.mkdir()
    let_others_through(tmp_path)
    assert as_ordinary_user(lambda: lose_permission(place), place) >= 5


class SleepyStorage(LocalStorage):
    """Stops this process, as a closed lid does, before its n-th write is visible."""

    def __init__(self, path: str, at: int) -> None:
        super().__init__(path)
        self.left = at

    def _settle(self, path: str, name: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        super()._settle(path, name)


COMMITTED, REFUSED = 0, 7


def sleeping_writer(path: str, tree: Path, content: dict[str, bytes], at: int) -> int:
    """Start a writer that stops at its n-th write; return its process."""
    child = os.fork()
    if child:
        return child
    code = 1
    with contextlib.suppress(BaseException):
        try:
            back_up(reopened(SleepyStorage(path, at)), tree, content)
            code = COMMITTED
        except CommitRefusedError:
            code = REFUSED
    os._exit(code)


def test_a_writer_that_slept_through_a_prune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine is another one for the prune, which takes it for dead after five minutes of its own clock."""
    monkeypatch.setattr(others, "this_process", lambda: Holder(b"another boot", 1, 1, 1, "other"))
    path, tree = str(tmp_path / "repository"), tmp_path / "tree"
    make_repository(LocalStorage(path))
    first, second = files(1, 2, 3), files(3, 4)
    ended: list[int] = []
    at = 0
    while not ended or at < 9:
        at += 1
        shutil.rmtree(path)
        storage = LocalStorage(path)
        repository = make_repository(storage)
        gone = back_up(repository, tree, first)
        kept = back_up(repository, tree, second)
        forget(repository, gone)
        child = sleeping_writer(path, tree, first | files(9), at)
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        clock = Seconds()
        assert prune(reopened(storage), PruneRequest(max_unused=0.0), Hooks(clock=clock), clock.sleep).finished
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        ended.append(os.waitstatus_to_exitcode(status))
        listed = [each.manifest_id for each in list_backups(reopened(storage))]
        assert (listed[:1], len(listed)) == ([kept], 2 if ended[-1] == COMMITTED else 1), (at, ended)
        require_backup(reopened(storage), kept, second, tmp_path / f"kept {at}")
        for each in listed[1:]:
            require_backup(reopened(storage), each, first | files(9), tmp_path / f"woken {at}")
        report = check(reopened(storage), CheckRequest(read_data=True, remember=False), Hooks())
        # A segment whose first copy the prune took away while its writer slept before the second is told.
        assert all((each.kind, each.object[:6]) == ("copy", "index/") for each in report.problems), report.problems
        assert report.hurt == []
    assert set(ended) <= {COMMITTED, REFUSED}
    assert len(ended) >= 6


@pytest.mark.parametrize("ahead", [-HOUR, YEAR], ids=["an hour back", "a year ahead"])
def test_a_clock_that_is_wrong_loses_nothing(tmp_path: Path, ahead: float) -> None:
    """Writers whose clocks differ, and a prune by the wrong one: order goes by numbers, leases by no clock."""
    oracle = Oracle(MemoryStorage(), tmp_path)
    make_repository(oracle.storage)
    tree = tmp_path / "tree"
    for number, wall in enumerate((LaterClock(), LaterClock(ahead), LaterClock(), LaterClock(ahead))):
        change_tree(tree, random.Random(number))
        oracle.back_up(tree, wall)
    oracle.require_listed()
    sequences = [each.root.lineage.sequence for each in list_backups(oracle.opened())]
    assert sequences == sorted(sequences) == [1, 2, 3, 4]
    live = oracle.opened().begin_write()
    told: list[str] = []
    clock = WrongSeconds(ahead)
    report = prune(
        oracle.opened(),
        PruneRequest(max_unused=0.0, max_seconds=600.0),
        Hooks(clock=clock, log=lambda _, message: told.append(message)),
        clock.sleep,
    )
    live.close()
    assert report.finished or report.waiting, "a session that lives is waited for, whatever the hour"
    oracle.require_whole()
    oracle.prune()
    oracle.require_whole()


class WrongSeconds(Seconds):
    """Runs as another clock does, and tells another time."""

    def __init__(self, ahead: float) -> None:
        super().__init__()
        self._ahead = ahead

    def now_ns(self) -> int:
        return LaterClock(self._ahead).now_ns()
