"""Records in one copy that cannot be read: moved aside, and nothing goes that a lost one may have kept (3.2, 3.11)."""

from pathlib import Path

import pytest

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.controllers import put_controller
from repositories.engine.errors import IntegrityError
from repositories.engine.forgetting import ForgetRequest, forget, place_hold, plan, release_holds
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord, VerifiedRecord
from repositories.engine.manifest.backups import Backup, list_backups
from repositories.engine.repair import list_aside
from repositories.engine.repair.notes import HOLD_DAYS, HOLD_REASON
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import run as prune
from tests.engine.repair.hurting import back_up, flip, mend, run_check
from tests.engine.repositories import PASSWORD


def names(storage: MemoryStorage, kind: ObjectKind) -> set[str]:
    return {name for name in storage.objects if name.startswith(DIRECTORIES[kind] + "/")}


def backups(storage: MemoryStorage, *, deleted: bool = False) -> list[Backup]:
    return list_backups(open_repository(storage, PASSWORD), deleted=deleted)


def delete(storage: MemoryStorage, *manifests: str, undoes: bytes | None = None) -> bytes:
    store = open_repository(storage, PASSWORD).store
    record = TombstoneRecord(tuple(map(bytes.fromhex, manifests)), 1, "test", undoes)
    return store.put(ObjectKind.TOMBSTONE, encode(record))


def test_what_an_unreadable_hold_kept_outlives_forget_and_prune(storage: MemoryStorage) -> None:
    """The hold, the deletion that it stood against, then damage: neither a prune nor a rule takes the backup."""
    first, second = backups(storage)
    place_hold(open_repository(storage, PASSWORD), first, "audit")
    (hold,) = names(storage, ObjectKind.ANNOTATION)
    delete(storage, first.manifest_id)
    flip(storage, hold, -1)
    with pytest.raises(IntegrityError):
        plan(open_repository(storage, PASSWORD), ForgetRequest(ids=(second.id,)))
    report = mend(storage)
    assert (report.exit_code, [(step.kind, step.object) for step in report.steps]) == (0, [("note", hold)])
    assert str(HOLD_DAYS) in report.steps[0].message
    assert [each.original for each in list_aside(storage)] == [hold]
    prune(storage)
    assert [each.id for each in backups(storage)] == [first.id, second.id]
    assert run_check(storage).ok
    repository = open_repository(storage, PASSWORD)
    for backup in (first, second):
        (held,) = repository.notes().holds(bytes.fromhex(backup.manifest_id), SYSTEM_CLOCK.now_ns())
        assert held.text == HOLD_REASON
        assert held.expires_ns is not None
        assert (held.expires_ns - SYSTEM_CLOCK.now_ns()) / 86_400e9 == pytest.approx(HOLD_DAYS, abs=0.1)


def test_the_holds_end_by_hand_and_then_all_is_as_ever(storage: MemoryStorage) -> None:
    first, _ = backups(storage)
    repository = open_repository(storage, PASSWORD)
    place_hold(repository, first, "audit")
    flip(storage, names(storage, ObjectKind.ANNOTATION).pop(), -1)
    mend(storage)
    repository = open_repository(storage, PASSWORD)
    assert release_holds(repository, first) == 1
    forget(repository, plan(repository, ForgetRequest(ids=(first.id,))))
    prune(storage)
    assert first.id not in {each.id for each in backups(storage, deleted=True)}


def test_a_backup_under_a_hold_of_its_own_gets_no_other(storage: MemoryStorage) -> None:
    first, second = backups(storage)
    place_hold(open_repository(storage, PASSWORD), first, "audit")
    kept = names(storage, ObjectKind.ANNOTATION)
    place_hold(open_repository(storage, PASSWORD), second, "audit")
    flip(storage, (names(storage, ObjectKind.ANNOTATION) - kept).pop(), -1)
    mend(storage)
    notes = open_repository(storage, PASSWORD).notes()
    now_ns = SYSTEM_CLOCK.now_ns()
    texts = [[each.text for each in notes.holds(bytes.fromhex(one.manifest_id), now_ns)] for one in (first, second)]
    assert texts == [["audit"], [HOLD_REASON]]


def test_an_unreadable_tombstone_may_have_brought_a_backup_back(storage: MemoryStorage) -> None:
    first, second = backups(storage)
    tombstone = delete(storage, first.manifest_id)
    before = names(storage, ObjectKind.TOMBSTONE)
    delete(storage, first.manifest_id, undoes=tombstone)
    assert len(backups(storage)) == 2
    flip(storage, (names(storage, ObjectKind.TOMBSTONE) - before).pop(), -1)
    assert [each.id for each in backups(storage)] == [second.id]
    assert mend(storage).exit_code == 0
    prune(storage)
    assert [each.id for each in backups(storage)] == [first.id, second.id]


def test_one_that_was_torn_in_its_put_never_counted_and_holds_nothing(storage: MemoryStorage) -> None:
    place_hold(open_repository(storage, PASSWORD), backups(storage)[0], "audit")
    (name,) = names(storage, ObjectKind.ANNOTATION)
    storage.objects[name] = storage.objects[name][:90]
    assert mend(storage).exit_code == 0
    assert not names(storage, ObjectKind.ANNOTATION)
    assert run_check(storage).ok


@pytest.mark.parametrize("kind", ["CONTROLLER", "VERIFIED", "DAMAGE", "CHECKPOINT"])
def test_other_records_are_moved_away_and_the_check_is_clean(storage: MemoryStorage, tmp_path: Path, kind: str) -> None:
    repository = open_repository(storage, PASSWORD)
    put_controller(repository, b"\x01" * 16, 1, 41)
    repository.store.put(ObjectKind.VERIFIED, encode(VerifiedRecord(1, b"")))
    repository.store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, b"\x09" * 16, b"\x0a" * 32, "gone")))
    with repository.begin_write() as session:
        session.checkpoint(repository.backups()[0].root)
    bad = set(names(storage, ObjectKind[kind]))
    for name in bad:
        flip(storage, name, -1)
    report = mend(storage)
    assert report.exit_code == 0
    assert {step.object for step in report.steps} == bad
    assert {each.original for each in list_aside(storage)} == bad
    assert back_up(storage, tmp_path) == 0
    assert run_check(storage).ok


def test_damage_that_a_second_look_does_not_find_is_left(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cable that gave wrong bytes back once must not cost a hold."""
    place_hold(open_repository(storage, PASSWORD), backups(storage)[0], "audit")
    (name,) = names(storage, ObjectKind.ANNOTATION)
    whole, asked = storage.get, []

    def flaky(wanted: str, offset: int = 0, length: int | None = None) -> bytes:
        data = whole(wanted, offset, length)
        if wanted != name:
            return data
        asked.append(wanted)
        return data if len(asked) > 1 else data[:-1] + bytes([data[-1] ^ 1])

    monkeypatch.setattr(storage, "get", flaky)
    assert mend(storage).steps == []
    assert name in storage.objects


def test_a_dry_run_tells_them(storage: MemoryStorage) -> None:
    place_hold(open_repository(storage, PASSWORD), backups(storage)[0], "audit")
    (name,) = names(storage, ObjectKind.ANNOTATION)
    flip(storage, name, -1)
    before = dict(storage.objects)
    report = mend(storage, dry_run=True)
    assert [(step.object, step.done) for step in report.steps] == [(name, False)]
    assert storage.objects == before
