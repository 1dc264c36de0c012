"""Deletions, holds, undeletes and prunes at the same moment: a hold wins, and every answer tells the truth (3.3)."""

import pytest

from repositories.engine.errors import BackupNotFoundError
from repositories.engine.forgetting import Held, forget, place_hold, plan, release_holds, undelete
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.repository import Repository
from repositories.engine.retention.writing import NotesWriter
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.forgetting.builders import DAY, NOW, backup, listed, named, new_repository, put_backup, reopened


@pytest.fixture
def repository() -> Repository:
    return new_repository()


class Interleaved(MemoryStorage):
    """Runs something once, directly before or after the first tombstone is put."""

    def __init__(self) -> None:
        super().__init__()
        self.before = self.after = lambda: None

    def put(self, name: str, *args: object, **options: object) -> None:
        watched = name.startswith("tombstones/")
        if watched:
            act, self.before = self.before, lambda: None
            act()
        super().put(name, *args, **options)  # type: ignore[arg-type]
        if watched:
            act, self.after = self.after, lambda: None
            act()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_hold_at_the_same_moment_wins_for_good(when: str) -> None:
    storage = Interleaved()
    repository = new_repository(storage)
    made = [put_backup(repository, NOW - age * DAY) for age in (3, 2, 1)]
    other = reopened(repository)
    held = backup(other, made[0])
    setattr(storage, when, lambda: place_hold(other, held, "needed"))
    result = forget(repository, plan(repository, named(repository, *made[:2])))
    assert [each.manifest_id for each in result.deleted] == [made[1]]
    assert [each.backup.manifest_id for each in result.spared] == [made[0]]
    assert listed(repository) == [made[0], made[2]]
    release_holds(repository, held)
    assert listed(repository) == [made[0], made[2]], "the deletion was undone, not only outlived"


def test_a_hold_that_comes_right_after_a_deletion_undoes_it_and_says_so() -> None:
    storage = Interleaved()
    repository = new_repository(storage)
    made = [put_backup(repository, NOW - age * DAY) for age in (2, 1)]
    other = reopened(repository)
    held = backup(other, made[0])
    result = forget(repository, plan(repository, named(repository, made[0])))
    assert [each.manifest_id for each in result.deleted] == [made[0]]
    assert place_hold(other, held, "needed") == Held(certain=True, brought_back=True)
    assert listed(repository) == made


@pytest.mark.parametrize("when", ["before", "after"])
def test_two_deletions_never_take_the_last_good_backup_together(when: str) -> None:
    storage = Interleaved()
    repository = new_repository(storage)
    first, second = (put_backup(repository, NOW - age * DAY) for age in (2, 1))
    other = reopened(repository)
    theirs = plan(other, named(other, second))
    setattr(storage, when, lambda: forget(other, theirs))
    forget(repository, plan(repository, named(repository, first)))
    assert listed(repository), "at least one is left"


def test_releasing_a_hold_that_outlived_a_deletion_deletes_nothing(repository: Repository) -> None:
    """The writer of the tombstone died before it could see the hold."""
    old = put_backup(repository, NOW - 2 * DAY)
    put_backup(repository, NOW - DAY)
    place_hold(repository, backup(repository, old), "needed")
    NotesWriter(repository.store, repository.clock).delete([bytes.fromhex(old)], "crashed")
    assert old in listed(repository)
    assert release_holds(repository, backup(repository, old)) == 1
    assert old in listed(repository)


def test_what_is_brought_back_while_a_prune_is_under_way_is_uncertain(repository: Repository) -> None:
    made = [put_backup(repository, NOW - age * DAY) for age in (3, 2, 1)]
    forget(repository, plan(repository, named(repository, *made[:2])))
    repository.store.put(ObjectKind.MARK, encode(MarkRecord(1, bytes(16), NOW, b"")))
    assert undelete(repository, [made[0]]).uncertain
    assert listed(repository) == [made[0], made[2]]
    keeps = b"".join(sorted(map(bytes.fromhex, (made[0], made[2]))))
    repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(1, bytes(16), NOW, keeps, b"", b"", b"")))
    assert listed(repository) == [made[0], made[2]]
    with pytest.raises(BackupNotFoundError, match="gone for good"):
        undelete(repository, [made[1]])


def test_what_a_prune_takes_at_the_same_moment_is_told_and_stays_deleted() -> None:
    """check must not take it for lost."""
    storage = Interleaved()
    repository = new_repository(storage)
    made = [put_backup(repository, NOW - age * DAY) for age in (2, 1)]
    forget(repository, plan(repository, named(repository, made[0])))
    keeps = bytes.fromhex(made[1])

    def prune() -> None:
        repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(1, bytes(16), NOW, keeps, b"", b"", b"")))

    storage.before = prune
    result = undelete(repository, [made[0]])
    assert [each.manifest_id for each in result.gone] == [made[0]]
    assert not result.back
    assert bytes.fromhex(made[0]) in repository.notes().deletions
