"""What a check has read is not lost when it ends early, whatever ends it; and no clock makes it count for more."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.check.ledger import read_ledger
from repositories.engine.errors import OperationCancelledError, RepositoryError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.format.verification import CheckedRecord
from repositories.engine.progress import Progress
from repositories.engine.repository import WriteOptions, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern

SECOND = 1_000_000_000


class SteadyClock:
    """Moves on by hand."""

    def __init__(self, seconds: float = 1_000_000.0) -> None:
        self.seconds = seconds

    def now_ns(self) -> int:
        return int(self.seconds * SECOND)

    def monotonic(self) -> float:
        return self.seconds


class DiedError(BaseException):
    """The process is gone, as no handler of errors can see."""


class SlowStorage(MemoryStorage):
    """Each pack takes a second to read; the process dies at the n-th one."""

    def __init__(self, clock: SteadyClock) -> None:
        super().__init__()
        self.clock = clock
        self.dies_at = 10**9
        self.read = 0

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name.startswith("packs/") and not offset:
            self.read += 1
            self.clock.seconds += 1
        return super().get(name, offset, length)

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if self.read >= self.dies_at:
            raise DiedError
        super().put(name, data, overwrite=overwrite)


def fill(storage: Storage, tree: Path, files: int) -> None:
    """Make a repository of at least as many packs as files."""
    repository = make_repository(storage)
    tree.mkdir()
    for number in range(files):
        (tree / f"file{number:03}").write_bytes(pattern(1_500_000, number))
    with repository.begin_write(WriteOptions(workers=2, pack_target=1)) as session:
        back_up_tree(repository, tree, session=session)


def proven(storage: Storage) -> dict[bytes, int]:
    return dict(read_ledger(open_repository(storage, PASSWORD).store, 2**62).proven)


def packs(storage: MemoryStorage) -> list[str]:
    return sorted(name for name in storage.objects if name.startswith("packs/"))


def run(storage: Storage, hooks: Hooks, **wanted: object) -> CheckReport:
    request = CheckRequest(**{"read_data": True, **wanted})  # type: ignore[arg-type]
    return check(open_repository(storage, PASSWORD), request, hooks)


@pytest.mark.parametrize(("seconds", "kept"), [(9, 5), (20, 15)])
def test_one_that_dies_within_its_first_minute_has_remembered_half(tmp_path: Path, seconds: int, kept: int) -> None:
    """3.1: what was read in the first 5 seconds is then in the repository, and so on after 15 and 35 seconds."""
    clock = SteadyClock()
    storage = SlowStorage(clock)
    fill(storage, tmp_path / "tree", 24)
    assert len(packs(storage)) > seconds
    storage.read, storage.dies_at = 0, seconds
    with pytest.raises(DiedError):
        run(storage, Hooks(clock=clock))
    # Readers are up to three packs ahead of what has been taken.
    assert kept - 3 <= len(proven(storage)) < len(packs(storage))


def test_a_process_that_is_killed_keeps_what_it_has_recorded(tmp_path: Path) -> None:
    """A real process and a real kill; the next check reads the rest first."""
    place = str(tmp_path / "repository")
    fill(LocalStorage(place), tmp_path / "tree", 12)
    child = multiprocessing.get_context("fork").Process(target=_check_slowly, args=(place,))
    child.start()
    while not list((tmp_path / "repository").glob("verified/*")):
        assert child.is_alive()
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    kept = proven(LocalStorage(place))
    report = run(LocalStorage(place), Hooks(), read_percent=0.001)
    assert kept
    assert report.proof.good_packs == len(kept) + 1


def _check_slowly(place: str) -> None:
    class Slow(LocalStorage):
        def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
            if name.startswith("packs/"):
                # Once something is recorded it goes no further, however late the kill comes.
                time.sleep(60 if any(Path(place).glob("verified/*")) else 0.05)
            return super().get(name, offset, length)

    run(Slow(place), Hooks(), record_seconds=0.1)


def test_one_that_is_cancelled_while_it_looks_at_backups_keeps_all(tmp_path: Path) -> None:
    """The packs have been read by then: that must not be done again."""
    storage, clock = MemoryStorage(), SteadyClock()
    fill(storage, tmp_path / "tree", 4)
    phases: list[str] = []

    def report(progress: Progress) -> None:
        phases.append(progress.phase)
        clock.seconds += 1

    def cancelled() -> bool:
        clock.seconds += 1
        return "checking backups" in phases

    hooks = Hooks(report=report, cancelled=cancelled, clock=clock)
    with pytest.raises(OperationCancelledError):
        run(storage, hooks, record_seconds=10**6)
    assert len(proven(storage)) == len(packs(storage))


def test_a_record_that_could_not_be_put_is_tried_again_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = MemoryStorage()
    fill(storage, tmp_path / "tree", 4)
    failed: list[str] = []
    put = MemoryStorage.put

    def once(self: MemoryStorage, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        if name.startswith("verified/") and not failed:
            failed.append(name)
            raise RepositoryError("Input/output error")
        put(self, name, data, overwrite=overwrite)

    monkeypatch.setattr(MemoryStorage, "put", once)
    with pytest.raises(RepositoryError):
        run(storage, Hooks(clock=SteadyClock()), record_seconds=0.0)
    assert len(proven(storage)) == 1


def test_the_last_word_on_hurt_backups_is_that_of_the_last_check(tmp_path: Path) -> None:
    """A machine whose clock was a year ahead, and one whose clock went back: neither's word outlives a later check."""
    storage = MemoryStorage()
    fill(storage, tmp_path / "tree", 4)
    name = packs(storage)[0]
    whole = storage.objects.pop(name)
    run(storage, Hooks(clock=SteadyClock(9_000_000_000.0)), read_data=False)
    assert len(open_repository(storage, PASSWORD).hurt_manifests()) == 1
    storage.objects[name] = whole
    assert run(storage, Hooks(clock=SteadyClock(1000.0)), read_data=False).ok
    assert open_repository(storage, PASSWORD).hurt_manifests() == frozenset()
    del storage.objects[name]
    run(storage, Hooks(clock=SteadyClock(500.0)), read_data=False)
    assert len(open_repository(storage, PASSWORD).hurt_manifests()) == 1


def test_what_a_clock_ahead_has_verified_is_read_again(tmp_path: Path) -> None:
    """Its packs count as never read, the record itself is no damage, and reading in parts goes round all the same."""
    storage = MemoryStorage()
    fill(storage, tmp_path / "tree", 6)
    run(storage, Hooks(clock=SteadyClock(9_000_000_000.0)))
    clock, seen = SteadyClock(), set[bytes]()
    while len(seen) < len(packs(storage)):
        report = run(storage, Hooks(clock=clock), read_percent=0.001)
        assert (report.ok, report.proof.read_packs) == (True, 1)
        now = {pack for pack, when in proven_by(storage, clock).items() if when <= clock.now_ns()}
        assert len(now) == len(seen) + 1
        seen = now
        clock.seconds += 100


def proven_by(storage: Storage, clock: SteadyClock) -> dict[bytes, int]:
    return dict(read_ledger(open_repository(storage, PASSWORD).store, clock.now_ns()).proven)


@pytest.mark.parametrize("harm", [b"", b"\0" * 300], ids=["emptied", "overwritten"])
def test_a_damaged_record_proves_nothing_and_is_told(tmp_path: Path, harm: bytes) -> None:
    storage = MemoryStorage()
    fill(storage, tmp_path / "tree", 3)
    run(storage, Hooks())
    (name,) = (each for each in storage.objects if each.startswith("verified/"))
    storage.objects[name] = harm
    report = run(storage, Hooks(), read_data=False)
    assert [problem.object for problem in report.problems] == [name]
    assert (report.proof.good_packs, report.proof.never_packs) == (0, len(packs(storage)))


def test_records_name_the_time_before_the_first_of_their_packs_was_read(tmp_path: Path) -> None:
    """Nothing is said to have been good later than it was seen."""
    clock = SteadyClock()
    storage = SlowStorage(clock)
    fill(storage, tmp_path / "tree", 9)
    before = clock.now_ns()
    run(storage, Hooks(clock=clock))
    store = open_repository(storage, PASSWORD).store
    times = [
        decode(store.read(ObjectKind.VERIFIED, each), CheckedRecord).checked_ns
        for each in store.ids(ObjectKind.VERIFIED)
    ]
    assert min(times) == before
    assert max(times) <= clock.now_ns() - 3 * SECOND
    assert encode(CheckedRecord(1, b"", None))
