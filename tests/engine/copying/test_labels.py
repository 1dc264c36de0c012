"""Tags, notes and holds that came after the backup go along with it, and change with it (3.3, 3.6)."""

from collections.abc import Callable

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.copying import CopyReport
from repositories.engine.copying.labels import MOST_OF_ONE
from repositories.engine.errors import BackupHeldError
from repositories.engine.forgetting import (
    ForgetRequest,
    LabelChange,
    change_labels,
    forget,
    place_hold,
    plan,
    release_holds,
    undelete,
)
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import AnnotationKind, AnnotationRecord
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import Backup, find_backup, list_backups
from repositories.engine.process.label_fields import Said, label_fields, said_now
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.copying.builders import OTHER_PASSWORD, copy, target_for
from tests.engine.copying.small import all_contents, clone, make_origin, make_target, opened

RELATION = pytest.mark.parametrize("related", [True, False], ids=["related", "unrelated"])
HOUR_NS = 3600 * 10**9


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    return make_origin(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def origin(made: MemoryStorage) -> Repository:
    return opened(clone(made))


def first_of(repository: Repository) -> Backup:
    return list_backups(repository)[0]


def said_of(repository: Repository, backup: Backup) -> tuple[list[str], list[str], list[str]]:
    """Return tags, the reasons of the holds in force, and the notes of a backup of this id, sorted."""
    found = find_backup(repository, backup.id)
    fields = label_fields(found, said_now(repository))
    holds, remarks = ([each[name] for each in fields[key]] for key, name in (("holds", "reason"), ("remarks", "text")))
    return fields["tags"], sorted(holds), sorted(remarks)


def counted(report: CopyReport) -> tuple[int, int]:
    return report.labels_carried, report.labels_ended


def annotations(repository: Repository) -> int:
    return len(repository.store.ids(ObjectKind.ANNOTATION))


@RELATION
def test_they_go_along(origin: Repository, related: bool) -> None:
    """With texts, times and ends; a backup without any gets none."""
    first, second, _ = list_backups(origin)
    change_labels(origin, first, LabelChange(add=("monthly", "good"), note="before the move"))
    until_ns = origin.clock.now_ns() + HOUR_NS
    place_hold(origin, first, "court", until_ns)
    place_hold(origin, first, "audit")
    target = target_for(origin, related=related)
    planned = copy(origin, target, dry_run=True)
    assert counted(planned) == (5, 0)
    assert annotations(target) == 0
    assert counted(copy(origin, target)) == (5, 0)
    assert said_of(target, first) == said_of(origin, first)
    assert said_of(target, second) == ([], [], [])
    old, new = (label_fields(find_backup(each, first.id), said_now(each)) for each in (origin, target))
    assert new == old
    assert counted(copy(origin, target)) == (0, 0)
    assert annotations(target) == 5
    with pytest.raises(BackupHeldError):
        plan(target, ForgetRequest(ids=(first.id,)))


@RELATION
def test_a_later_copy_carries_what_changed(origin: Repository, related: bool) -> None:
    first = first_of(origin)
    change_labels(origin, first, LabelChange(add=("monthly",), note="old"))
    place_hold(origin, first, "court")
    target = target_for(origin, related=related)
    copy(origin, target)
    change_labels(origin, first, LabelChange(add=("yearly",), remove=("monthly",), note="new"))
    assert release_holds(origin, first) == 1
    place_hold(origin, first, "audit")
    assert counted(copy(origin, target, dry_run=True)) == (3, 3)
    assert counted(copy(origin, target)) == (3, 3)
    assert said_of(target, first) == (["yearly"], ["audit"], ["new"])
    change_labels(origin, first, LabelChange(note=""))
    release_holds(origin, first)
    copy(origin, target)
    assert said_of(target, first) == (["yearly"], [], [])
    assert counted(copy(origin, target)) == (0, 0)


def test_tags_that_a_backup_was_made_with(made: MemoryStorage) -> None:
    """They are in the root: only that they were taken away, or given back, is carried."""
    origin = opened(clone(made))
    first = first_of(origin)
    record = AnnotationRecord(AnnotationKind.TAG_TAKEN, bytes.fromhex(first.manifest_id), 5, "own")
    taken = origin.store.put(ObjectKind.ANNOTATION, encode(record))
    target = target_for(origin, related=True)
    assert counted(copy(origin, target)) == (1, 0)
    (there,) = target.notes().of(bytes.fromhex(first_of(target).manifest_id))
    assert (there.kind, there.text, there.created_ns) == (AnnotationKind.TAG_TAKEN, "own", 5)
    back = AnnotationRecord(AnnotationKind.TAG_TAKEN, bytes.fromhex(first.manifest_id), 6, "", withdraws=taken)
    origin.store.put(ObjectKind.ANNOTATION, encode(back))
    assert counted(copy(origin, target)) == (0, 1)
    assert target.notes().of(bytes.fromhex(first_of(target).manifest_id)) == ()


def test_what_was_said_in_the_target_is_not_ended(origin: Repository) -> None:
    """A hold of the target's own is not released from elsewhere; what was taken away there does not come again."""
    first = first_of(origin)
    change_labels(origin, first, LabelChange(add=("shared", "passing")))
    place_hold(origin, first, "court")
    target = target_for(origin, related=True)
    copy(origin, target)
    copied = find_backup(target, first.id)
    change_labels(target, copied, LabelChange(add=("own",), remove=("passing",)))
    place_hold(target, copied, "of the target")
    release_holds(origin, first)
    change_labels(origin, first, LabelChange(remove=("shared",)))
    copy(origin, target)
    assert said_of(target, first) == (["own"], ["of the target"], [])
    assert counted(copy(origin, target)) == (0, 0)


def test_a_copy_back_releases_no_hold_of_the_first(origin: Repository) -> None:
    """It was put there: that its copy was released elsewhere is no word of whoever holds it here."""
    first = first_of(origin)
    place_hold(origin, first, "court")
    target = target_for(origin, related=True)
    copy(origin, target)
    assert release_holds(target, find_backup(target, first.id)) == 1
    assert counted(copy(target, origin)) == (0, 0)
    assert said_of(origin, first)[1] == ["court"]
    assert counted(copy(origin, target)) == (0, 0)
    assert said_of(target, first)[1] == []


def test_a_hold_that_has_ended_is_not_carried(origin: Repository) -> None:
    first = first_of(origin)
    record = AnnotationRecord(AnnotationKind.HOLD, bytes.fromhex(first.manifest_id), 1, "over", 2)
    origin.store.put(ObjectKind.ANNOTATION, encode(record))
    target = target_for(origin, related=True)
    assert counted(copy(origin, target)) == (0, 0)


def test_a_carried_hold_ends_by_itself(origin: Repository) -> None:
    first = first_of(origin)
    until_ns = origin.clock.now_ns() + HOUR_NS
    place_hold(origin, first, "an hour", until_ns)
    target = target_for(origin, related=True)
    copy(origin, target)
    notes, copied = target.notes(), find_backup(target, first.id)
    for now_ns, count in ((until_ns - 1, 1), (until_ns, 0)):
        assert len(label_fields(copied, Said(notes, now_ns))["holds"]) == count


def test_deletions_stay_where_they_are(origin: Repository) -> None:
    """What is deleted in the target stays so, whatever hold comes; it is told when it is brought back there."""
    first = first_of(origin)
    target = target_for(origin, related=True)
    copy(origin, target)
    forget(target, plan(target, ForgetRequest(ids=(first.id,))))
    place_hold(origin, first, "court")
    report = copy(origin, target)
    assert (report.deleted_there, counted(report)) == (1, (0, 0))
    undelete(target, [first.id])
    assert counted(copy(origin, target)) == (1, 0)
    assert said_of(target, first) == ([], ["court"], [])
    forget(origin, plan(origin, ForgetRequest(ids=(list_backups(origin)[1].id,))))
    copy(origin, target)
    assert len(list_backups(target)) == 3


def test_a_backup_that_is_copied_anew_gets_them_anew(origin: Repository) -> None:
    """The copy of before was pruned: what was said of it is of no use for the new one."""
    first = first_of(origin)
    change_labels(origin, first, LabelChange(add=("monthly",)))
    target = target_for(origin, related=True)
    copy(origin, target)
    forget(target, plan(target, ForgetRequest(ids=(first.id,))))
    prune(target, PruneRequest(), Hooks())
    report = copy(origin, target)
    assert ([each.backup.id for each in report.copied], counted(report)) == ([first.id], (1, 0))
    assert said_of(target, first) == (["monthly"], [], [])


def test_along_a_chain_and_back(origin: Repository) -> None:
    """What came over two repositories is known by the id of where it was said first, also there."""
    first = first_of(origin)
    change_labels(origin, first, LabelChange(add=("monthly",)))
    middle, last = target_for(origin, related=True), target_for(origin, related=False)
    copy(origin, middle)
    copy(middle, last)
    assert counted(copy(origin, last)) == (0, 0)
    change_labels(last, find_backup(last, first.id), LabelChange(add=("late",)))
    assert counted(copy(last, origin)) == (1, 0)
    assert said_of(origin, first)[0] == ["late", "monthly"]
    change_labels(origin, first, LabelChange(remove=("monthly",)))
    for here, there in ((origin, middle), (middle, last)):
        copy(here, there)
    assert said_of(middle, first)[0] == said_of(last, first)[0] == ["late"]


def test_a_kill_between_the_backup_and_its_labels(made: MemoryStorage) -> None:
    """The next copy brings them, and none twice."""
    storage = clone(made)
    change_labels(opened(storage), first_of(opened(storage)), LabelChange(add=("a", "b"), note="n"))
    empty = make_target(storage, related=True)
    whole = FaultyStorage(clone(empty))
    copy(opened(storage), opened(whole, OTHER_PASSWORD))
    reached = set()
    for at in range(1, whole.writes + 1):
        target = clone(empty)
        with pytest.raises(KilledError):
            copy(opened(storage), opened(FaultyStorage(target, Fault.KILL, at), OTHER_PASSWORD))
        reached.add(annotations(opened(target, OTHER_PASSWORD)))
        copy(opened(storage), opened(target, OTHER_PASSWORD))
        repository = opened(target, OTHER_PASSWORD)
        assert said_of(repository, first_of(repository)) == (["a", "b"], [], ["n"])
        assert annotations(repository) == 3
        assert len(all_contents(repository)) == 3
    assert reached == {0, 1, 2, 3}


def overlong(manifest: bytes) -> AnnotationRecord:
    return AnnotationRecord(AnnotationKind.HOLD, manifest, 1, "x" * 2000)


def with_controls(manifest: bytes) -> AnnotationRecord:
    return AnnotationRecord(AnnotationKind.TAG, manifest, 1, "a\x1b[2Jb")


def of_no_id(manifest: bytes) -> AnnotationRecord:
    return AnnotationRecord(AnnotationKind.TAG, manifest, 1, "", withdraws=b"x" * 100_000)


@pytest.mark.parametrize("make", [overlong, with_controls, of_no_id])
def test_what_nobody_typed_is_told_and_left(origin: Repository, make: Callable[[bytes], AnnotationRecord]) -> None:
    first = first_of(origin)
    bad = origin.store.put(ObjectKind.ANNOTATION, encode(make(bytes.fromhex(first.manifest_id))))
    change_labels(origin, first, LabelChange(add=("good",)))
    target = target_for(origin, related=True)
    report = copy(origin, target)
    assert (report.exit_code, report.damaged_labels) == (13, [f"annotations/{bad.hex()}"])
    assert (len(report.copied), counted(report)) == (3, (1, 0))


def test_too_many_are_told_and_left(origin: Repository) -> None:
    first = first_of(origin)
    for number in range(MOST_OF_ONE + 1):
        record = AnnotationRecord(AnnotationKind.TAG, bytes.fromhex(first.manifest_id), 1, str(number))
        origin.store.put(ObjectKind.ANNOTATION, encode(record))
    said: list[str] = []
    origin.warn = said.append
    target = target_for(origin, related=True)
    assert counted(copy(origin, target)) == (0, 0)
    assert said == [f"backup {first.short_id} has 1,001 tags, notes and holds: none of them is carried"]


def test_kinds_of_later_versions_are_left(origin: Repository) -> None:
    """Nobody here knows what they mean."""
    record = AnnotationRecord(77, bytes.fromhex(first_of(origin).manifest_id), 1, "later")
    origin.store.put(ObjectKind.ANNOTATION, encode(record))
    report = copy(origin, target_for(origin, related=True))
    assert (report.exit_code, counted(report)) == (0, (0, 0))
