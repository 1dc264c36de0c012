"""Reading all data bit by bit: oldest first, for a time, remembered also when it ends early."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.check.ledger import read_ledger
from repositories.engine.errors import OperationCancelledError, RepositoryError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.format.verification import CheckedRecord
from repositories.engine.repository import open_repository
from repositories.engine.sessions.results import superfluous_results
from repositories.engine.sessions.views import read_damage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern

SECOND = 1_000_000_000


class StepClock:
    """Each question for the time takes `step` seconds."""

    def __init__(self, start: float = 1_000_000.0, step: float = 1.0) -> None:
        self.seconds = start
        self.step = step

    def now_ns(self) -> int:
        return int(self.seconds * SECOND)

    def monotonic(self) -> float:
        self.seconds += self.step
        return self.seconds


class Unreliable(MemoryStorage):
    """Answers for packs may be spoilt, once each or for good."""

    spoil: Callable[[str, bytes], bytes] | None = None

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        data = super().get(name, offset, length)
        return data if self.spoil is None or not name.startswith("packs/") else self.spoil(name, data)


@pytest.fixture
def storage(tmp_path: Path) -> Unreliable:
    """Return a repository of some packs."""
    storage = Unreliable()
    repository = make_repository(storage)
    (tmp_path / "tree").mkdir()
    for number in range(8):
        (tmp_path / "tree" / f"file{number}").write_bytes(pattern(1_100_000, number))
    with repository.begin_write(SMALL_PACKS) as session:
        back_up_tree(repository, tmp_path / "tree", session=session)
    assert len(packs(storage)) >= 6
    return storage


def packs(storage: MemoryStorage) -> list[str]:
    return sorted(name for name in storage.objects if name.startswith("packs/"))


def run(storage: MemoryStorage | FaultyStorage, *, hooks: Hooks | None = None, **wanted: object) -> CheckReport:
    request = CheckRequest(**{"read_data": True, **wanted})  # type: ignore[arg-type]
    return check(open_repository(storage, PASSWORD), request, hooks or Hooks())


def proven(storage: MemoryStorage) -> dict[bytes, int]:
    return dict(read_ledger(open_repository(storage, PASSWORD).store, 2**62).proven)


def flip(storage: MemoryStorage, name: str) -> None:
    data = bytearray(storage.objects[name])
    data[len(data) // 2] ^= 1
    storage.objects[name] = bytes(data)


def test_parts_go_round_and_tell_what_was_not_read(storage: Unreliable) -> None:
    total = len(packs(storage))
    clock = StepClock(step=0.0)
    first = run(storage, read_percent=30.0, hooks=Hooks(clock=clock)).proof
    assert first.packs == total == first.read_packs + first.unread_packs
    assert 0 < first.read_packs < total
    assert (first.never_packs, first.good_packs) == (first.unread_packs, first.read_packs)
    assert first.never_bytes == first.unread_bytes == first.bytes - first.good_bytes
    read_first = set(proven(storage))
    clock.seconds += 100
    reports = [run(storage, read_percent=30.0, hooks=Hooks(clock=clock)).proof for _ in range(3)]
    assert reports[-1].never_packs == 0
    assert reports[-1].good_bytes == reports[-1].bytes
    # Those of the first check are now the ones that were read longest ago, and come first.
    assert reports[-1].oldest_ns == 1_000_100 * SECOND
    assert all(proven(storage)[pack] > 1_000_000 * SECOND for pack in read_first)


def test_the_smallest_part_reads_something(storage: Unreliable) -> None:
    assert run(storage, read_percent=0.001).proof.read_packs == 1


def test_nothing_more_is_begun_when_the_time_is_over(storage: Unreliable) -> None:
    report = run(storage, max_seconds=0.0)
    assert (report.ok, report.stopped, report.bytes_read) == (True, True, 0)
    assert report.proof.unread_packs == len(packs(storage))
    assert report.chunks_referenced >= 8
    rest = run(storage, max_seconds=1e9)
    assert (rest.stopped, rest.proof.unread_packs) == (False, 0)


def test_a_cancelled_check_keeps_what_it_has_proven(storage: Unreliable) -> None:
    read: list[str] = []

    def count(name: str, data: bytes) -> bytes:
        read.append(name)
        return data

    storage.spoil = count
    hooks = Hooks(clock=StepClock(), cancelled=lambda: len(read) >= 4)
    with pytest.raises(OperationCancelledError):
        run(storage, hooks=hooks)
    done = proven(storage)
    assert 0 < len(done) < len(packs(storage))
    read.clear()
    run(storage, read_percent=20.0)
    assert not {name[-32:] for name in read} & {pack.hex() for pack in done}


def test_a_killed_check_keeps_all_but_the_last_results(storage: Unreliable) -> None:
    # The first write is the lease, which is written again at no point of so short a check.
    faulty = FaultyStorage(storage, Fault.KILL, 4)
    with pytest.raises(KilledError):
        run(faulty, record_seconds=0.0, hooks=Hooks(clock=StepClock(step=1000.0)))
    assert len(proven(storage)) == 2


def test_results_are_recorded_more_rarely_as_time_goes_on(storage: Unreliable) -> None:
    run(storage, record_seconds=2.0, hooks=Hooks(clock=StepClock(step=1.0)))
    records = [name for name in storage.objects if name.startswith("verified/")]
    assert 1 < len(records) < len(packs(storage))


def test_damage_in_transport_is_no_damage(storage: Unreliable) -> None:
    seen: set[str] = set()

    def once(name: str, data: bytes) -> bytes:
        if name in seen:
            return data
        seen.add(name)
        return data[:-1] + bytes([data[-1] ^ 1])

    storage.spoil = once
    report = run(storage)
    assert (report.ok, report.read_twice) == (True, len(packs(storage)))
    assert read_damage(open_repository(storage, PASSWORD).store) == {}


def test_damage_is_withdrawn_when_the_pack_is_read_whole_later(storage: Unreliable, tmp_path: Path) -> None:
    name = packs(storage)[0]
    flip(storage, name)
    assert not run(storage).ok
    assert read_damage(open_repository(storage, PASSWORD).store).keys() == {bytes.fromhex(name[-32:])}
    flip(storage, name)
    # Known damage is looked at by every check, whatever else it reads.
    report = run(storage, read_data=False)
    assert (report.ok, report.healed_packs) == (True, 1)
    assert read_damage(open_repository(storage, PASSWORD).store) == {}
    assert run(storage).healed_packs == 0
    result = back_up_tree(open_repository(storage, PASSWORD), tmp_path / "tree")
    assert result.new_chunks == 0


def test_known_damage_is_told_by_a_check_that_does_not_come_to_it(storage: Unreliable) -> None:
    name = packs(storage)[0]
    flip(storage, name)
    assert not run(storage).ok
    report = run(storage, max_seconds=0.0)
    assert report.exit_code == 13
    assert [problem.object for problem in report.problems if problem.kind == "pack"] == [name]
    assert "not read again" in next(each.message for each in report.problems if each.kind == "pack")
    assert report.proof.good_packs == len(packs(storage)) - 1
    assert not run(storage, read_data=False).ok


def test_a_pack_that_cannot_be_read_is_damaged_and_a_medium_that_is_away_is_not(
    storage: Unreliable, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = packs(storage)[0]

    def refuse(name: str, data: bytes) -> bytes:
        if name == bad:
            raise RepositoryError("Input/output error")
        return data

    storage.spoil = refuse
    report = run(storage)
    assert [problem.object for problem in report.problems if problem.kind == "pack"] == [bad]
    assert read_damage(open_repository(storage, PASSWORD).store) == {bytes.fromhex(bad[-32:]): frozenset()}
    opened = open_repository(storage, PASSWORD)

    def away(self: MemoryStorage, name: str) -> int:
        raise RepositoryError("Input/output error")

    monkeypatch.setattr(MemoryStorage, "size", away)
    with pytest.raises(RepositoryError):
        check(opened, CheckRequest(read_data=True), Hooks())


def test_what_was_checked_in_the_future_proves_nothing(storage: Unreliable) -> None:
    ahead = StepClock(start=2_000_000_000.0 * 3, step=0.0)
    run(storage, hooks=Hooks(clock=ahead))
    proof = run(storage, read_data=False).proof
    assert (proof.good_packs, proof.never_packs) == (0, proof.packs)


def test_a_missing_or_cut_reserve_is_told(storage: Unreliable) -> None:
    assert run(storage, read_data=False).reserve == "present"
    for left in (b"", storage.objects[RESERVE_NAME][:-1]):
        storage.objects[RESERVE_NAME] = left
        assert run(storage, read_data=False).reserve == "short"
    del storage.objects[RESERVE_NAME]
    report = run(storage, read_data=False)
    assert (report.reserve, report.ok) == ("missing", True)


def test_records_that_later_ones_repeat_are_superfluous() -> None:
    one, two = bytes(16), bytes([1]) * 16
    records = {
        b"old": CheckedRecord(1, one + two, b""),
        b"middle": CheckedRecord(2, one, None),
        b"newest": CheckedRecord(3, one, b""),
    }
    assert superfluous_results(records, (), 9) == {b"middle"}
    assert superfluous_results(records, {two}, 9) == superfluous_results(records, {one, two}, 9) == {b"old", b"middle"}
    told = {b"told": CheckedRecord(1, one, b""), b"later": CheckedRecord(2, two, None)}
    assert superfluous_results(told, {one}, 9) == frozenset()


def test_records_of_the_future_make_no_other_superfluous() -> None:
    """They prove nothing: what was seen by a right clock must not go for them, or it is read again and again."""
    one, two = bytes(16), bytes([1]) * 16
    records = {
        b"past": CheckedRecord(1, one + two, None),
        b"present": CheckedRecord(5, one, None),
        b"ahead": CheckedRecord(99, one + two, b""),
    }
    assert superfluous_results(records, (), 5) == frozenset()
    assert superfluous_results(records, (), 99) == {b"past", b"present"}
    records[b"again"] = CheckedRecord(6, one + two, None)
    assert superfluous_results(records, (), 6) == {b"past", b"present"}
