"""Backups are deleted by name and by rules, never the last good one of a source, and can be brought back (3.3)."""

import pytest

from repositories.engine.errors import (
    BackupDeletedError,
    BackupHeldError,
    BackupNotFoundError,
    ConfigurationError,
    IntegrityError,
    LastBackupError,
)
from repositories.engine.forgetting import ForgetRequest, Held, forget, place_hold, plan, release_holds, undelete
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import AnnotationKind, AnnotationRecord
from repositories.engine.format.records import encode
from repositories.engine.format.verification import CheckedRecord
from repositories.engine.manifest.backups import find_backup, list_backups
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import deleted_manifests
from repositories.engine.retention.policy import KeepRules
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.forgetting.builders import (
    DAY,
    HOUR,
    NOW,
    SetClock,
    backup,
    listed,
    named,
    new_repository,
    put_backup,
    reopened,
)


@pytest.fixture
def repository() -> Repository:
    return new_repository()


def reasons(repository: Repository, request: ForgetRequest) -> dict[str, list[str]]:
    return {
        each.backup.manifest_id: [reason.rule for reason in each.verdict.reasons]
        for each in plan(repository, request).judged
    }


def test_one_tombstone_deletes_all_that_no_rule_keeps(repository: Repository) -> None:
    made = [put_backup(repository, NOW - age * DAY) for age in range(10, 0, -1)]
    request = ForgetRequest(rules=KeepRules(last=2, within_ns=4 * DAY), reason="weekly tidying")
    planned = plan(repository, request)
    assert {each.manifest_id for each in planned.going} == set(made[:5])
    assert listed(repository) == made, "a plan writes nothing"
    result = forget(repository, planned)
    assert {each.manifest_id for each in result.deleted} == set(made[:5])
    assert not result.spared
    assert listed(repository) == made[5:]
    assert len(repository.store.ids(ObjectKind.TOMBSTONE)) == 1
    with pytest.raises(BackupDeletedError, match="weekly tidying") as raised:
        find_backup(reopened(repository), made[0])
    assert "undelete" in raised.value.hint
    assert not plan(repository, request).going
    assert forget(repository, plan(repository, request)).tombstone_id is None


def test_a_part_of_a_deletion_is_brought_back_then_all(repository: Repository) -> None:
    made = [put_backup(repository, NOW - age * DAY) for age in range(5, 0, -1)]
    forget(repository, plan(repository, named(repository, *made[:3])))
    back = undelete(repository, [made[1]])
    assert [each.manifest_id for each in back.back] == [made[1]]
    assert not back.uncertain
    assert listed(repository) == [made[1], *made[3:]]
    with pytest.raises(BackupNotFoundError, match="is not deleted"):
        undelete(repository, [made[1]])
    assert {each.manifest_id for each in undelete(repository, [], everything=True).back} == {made[0], made[2]}
    assert listed(repository) == made
    with pytest.raises(ConfigurationError):
        undelete(repository, [])


def test_the_last_good_backup_of_a_source_stays(repository: Repository) -> None:
    good = put_backup(repository, NOW - 3 * DAY)
    partial = [put_backup(repository, NOW - age * DAY, skipped=1) for age in (2, 1)]
    other = put_backup(repository, NOW - DAY, "other")
    found = reasons(repository, ForgetRequest(rules=KeepRules(last=1)))
    assert found == {partial[1]: ["last"], partial[0]: ["none"], good: ["last-good"], other: ["last"]}
    with pytest.raises(LastBackupError, match="last good backup of source home"):
        plan(repository, named(repository, good))
    with pytest.raises(LastBackupError, match="last good backup of source home"):
        plan(repository, named(repository, good, *partial))
    with pytest.raises(LastBackupError, match="last good backup of source other"):
        plan(repository, named(repository, other))
    forget(repository, plan(repository, named(repository, good, allow_last=True)))
    with pytest.raises(LastBackupError, match="all that is left of source home"):
        plan(repository, named(repository, *partial))
    assert not forget(repository, plan(repository, named(repository, *partial, allow_last=True))).spared
    assert listed(repository) == [other]


def test_a_backup_that_a_check_found_hurt_is_not_good(repository: Repository) -> None:
    whole, hurt = put_backup(repository, NOW - 2 * DAY), put_backup(repository, NOW - DAY)
    repository.store.put(ObjectKind.VERIFIED, encode(CheckedRecord(NOW, b"", bytes.fromhex(hurt))))
    assert reasons(repository, ForgetRequest(rules=KeepRules(last=1))) == {hurt: ["last"], whole: ["last-good"]}


def test_a_request_that_makes_no_sense_is_refused(repository: Repository) -> None:
    made = put_backup(repository, NOW - DAY)
    put_backup(repository, NOW - 2 * DAY)
    for request, match in (
        (ForgetRequest(), "everything would be deleted"),
        (ForgetRequest(rules=KeepRules(last=0, daily=0)), "everything would be deleted"),
        (ForgetRequest(ids=(made,), rules=KeepRules(last=1)), "ids and keep rules"),
        (ForgetRequest(ids=(made,), tag="x"), "ids and a tag"),
        (ForgetRequest(rules=KeepRules(last=1), reason="two\nlines"), "plain text"),
        (ForgetRequest(rules=KeepRules(daily=1, zone="Mars/Olympus")), "not the name of a time zone"),
    ):
        with pytest.raises(ConfigurationError, match=match):
            plan(repository, request)
    with pytest.raises(BackupNotFoundError, match="of source nowhere"):
        plan(repository, ForgetRequest(rules=KeepRules(last=1), source="nowhere"))
    with pytest.raises(BackupNotFoundError, match="with tag"):
        plan(repository, ForgetRequest(rules=KeepRules(last=1), tag="nothing"))


def test_a_mistyped_tag_deletes_nothing(repository: Repository) -> None:
    """56: a typo in a tag must not delete everything."""
    tagged = put_backup(repository, NOW - 3 * DAY, tags=["monthly"])
    plain = [put_backup(repository, NOW - age * DAY) for age in (2, 1)]
    with pytest.raises(LastBackupError, match="no rule keeps any backup of source home") as raised:
        plan(repository, ForgetRequest(rules=KeepRules(tags=frozenset({"montly"}))))
    assert "no backup has the tag montly" in raised.value.hint
    with pytest.raises(LastBackupError):
        plan(repository, ForgetRequest(rules=KeepRules(tags=frozenset({"montly"})), allow_last=True))
    planned = plan(repository, ForgetRequest(rules=KeepRules(tags=frozenset({"monthly", "montly"}))))
    assert "montly" in planned.warnings[0]
    assert [each.manifest_id for each in planned.going] == [plain[0]]
    assert tagged not in {each.manifest_id for each in planned.going}


def test_only_what_a_source_or_tag_selects_takes_part(repository: Repository) -> None:
    home = [put_backup(repository, NOW - age * DAY, tags=["auto"]) for age in (4, 3)]
    by_hand = put_backup(repository, NOW - 2 * DAY)
    put_backup(repository, NOW - DAY, "other")
    put_backup(repository, NOW - HOUR, "other")
    request = ForgetRequest(rules=KeepRules(last=1), source="home", tag="auto")
    assert reasons(repository, request) == {home[1]: ["last"], home[0]: ["none"]}
    assert by_hand not in {each.manifest_id for each in plan(repository, request).going}


def test_what_is_dated_in_the_future_is_left_alone_and_named(repository: Repository) -> None:
    """54: it fills no bucket, deletes nothing, and is told."""
    ahead = put_backup(repository, NOW + 365 * DAY)
    made = [put_backup(repository, NOW - age * DAY) for age in (3, 2, 1)]
    planned = plan(repository, ForgetRequest(rules=KeepRules(last=1)))
    assert {each.manifest_id for each in planned.going} == set(made[:2])
    assert "future" in planned.warnings[0]
    assert reasons(repository, ForgetRequest(rules=KeepRules(last=1)))[ahead] == ["future"]
    with pytest.raises(LastBackupError):
        plan(repository, named(repository, *made))
    assert plan(repository, named(repository, ahead)).going


def test_a_hold_keeps_a_backup_until_it_ends(repository: Repository) -> None:
    old, new = put_backup(repository, NOW - 2 * DAY), put_backup(repository, NOW - DAY)
    assert place_hold(repository, backup(repository, old), "audit 2026", NOW + DAY) == Held(True, False)
    with pytest.raises(BackupHeldError, match=r"until 2026.*audit 2026"):
        plan(repository, named(repository, old))
    assert reasons(repository, ForgetRequest(rules=KeepRules(last=1))) == {new: ["last"], old: ["hold"]}
    assert release_holds(repository, backup(repository, old)) == 1
    assert release_holds(repository, backup(repository, old)) == 0
    assert place_hold(repository, backup(repository, old), "short", NOW + HOUR) == Held(True, False)
    assert isinstance(repository.clock, SetClock)
    repository.clock.now += HOUR
    assert [each.manifest_id for each in plan(repository, named(repository, old)).going] == [old]
    for reason, until in (("", None), ("past", NOW)):
        with pytest.raises(ConfigurationError):
            place_hold(repository, backup(repository, old), reason, until)


def test_a_hold_that_came_after_the_plan_wins(repository: Repository) -> None:
    made = [put_backup(repository, NOW - age * DAY) for age in (3, 2, 1)]
    planned = plan(repository, ForgetRequest(rules=KeepRules(last=1)))
    place_hold(reopened(repository), backup(repository, made[0]), "needed")
    result = forget(repository, planned)
    assert [each.manifest_id for each in result.deleted] == [made[1]]
    assert [(each.backup.manifest_id, each.reasons[0].bucket) for each in result.spared] == [(made[0], "needed")]


def test_nothing_is_deleted_while_an_annotation_cannot_be_read() -> None:
    storage = MemoryStorage()
    repository = new_repository(storage)
    old = put_backup(repository, NOW - 2 * DAY)
    put_backup(repository, NOW - DAY)
    record = AnnotationRecord(AnnotationKind.HOLD, bytes.fromhex(old), NOW, "needed")
    name = f"annotations/{repository.store.put(ObjectKind.ANNOTATION, encode(record)).hex()}"
    storage.objects[name] = storage.objects[name][:-1] + bytes([storage.objects[name][-1] ^ 1])
    with pytest.raises(IntegrityError, match="cannot be read"):
        plan(reopened(repository), named(repository, old))


def test_a_manifest_that_cannot_be_read_can_be_named_and_goes() -> None:
    """A prune waits for that: what nobody can read it does not take for deleted."""
    storage = MemoryStorage()
    repository = new_repository(storage)
    broken, whole = put_backup(repository, NOW - 2 * DAY), put_backup(repository, NOW - DAY)
    for name in (f"manifests/{broken}", f"copies/manifests/{broken}"):
        storage.objects[name] = storage.objects[name][:-1] + bytes([storage.objects[name][-1] ^ 1])
    again = reopened(repository)
    assert listed(again) == [whole]
    ruled = plan(again, ForgetRequest(rules=KeepRules(last=1)))
    assert (ruled.lost, ruled.warnings) == ((), (f"manifests/{broken} cannot be read: its backup is lost",))
    for word in (broken, f"manifests/{broken}"):
        planned = plan(again, named(again, word))
        assert (planned.lost, planned.going) == ((broken,), ())
    forget(again, planned)
    assert bytes.fromhex(broken) in deleted_manifests(repository.store, NOW)
    assert list_backups(again)
    assert again.damaged_manifests() == []
