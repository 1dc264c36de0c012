"""A writer that dies between the two copies of an object is no damage, and the next prune mends it (3.10)."""

import contextlib
from pathlib import Path

import msgspec
import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.format.collection import LeaseRecord
from repositories.engine.format.kinds import COPIES, ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repository import open_repository
from repositories.engine.storage.faults import CHANGES, Breakage, Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import back_up, files, forget, reopened, run
from tests.engine.repositories import PASSWORD, make_repository


def checked(storage: MemoryStorage) -> CheckReport:
    return check(reopened(storage), CheckRequest(remember=False), Hooks())


def let_holders_die(storage: MemoryStorage) -> None:
    """Make the leases on the medium those of a process of this machine that is gone."""
    store = open_repository(storage, PASSWORD).store
    for session_id in store.ids(ObjectKind.SESSION):
        record = decode(store.read(ObjectKind.SESSION, session_id), LeaseRecord)
        store.replace(ObjectKind.SESSION, encode(msgspec.structs.replace(record, process_start=1)), session_id)


def without_a_copy(storage: MemoryStorage) -> set[str]:
    """Return the names of objects that have one copy alone."""
    first = {name for name in storage.objects if name.split("/")[0] in ("index", "manifests", "sweeps")}
    second = {name.removeprefix(COPIES) for name in storage.objects if name.split("/")[1:2] and COPIES in name}
    return (first ^ second) & {
        name for name in first | second if name.split("/")[0] in ("index", "manifests", "sweeps")
    }


def scene(root: Path) -> MemoryStorage:
    """Return a medium with two backups, the first of which is deleted."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    first = back_up(repository, root / "tree", files(1, 2, 3))
    back_up(repository, root / "tree", files(3, 4))
    forget(repository, first)
    return storage


@pytest.mark.parametrize("what", ["backup", "prune"])
def test_a_death_between_two_copies_is_no_damage(tmp_path: Path, what: str) -> None:
    halves = at = 0
    base = scene(tmp_path)
    while True:
        at += 1
        storage = MemoryStorage()
        storage.objects.update(base.objects)
        faulty = FaultyStorage(storage, breakage=Breakage(Fault.KILL, at, CHANGES))
        with contextlib.suppress(KilledError):
            if what == "prune":
                run(faulty)
            else:
                back_up(reopened(faulty), tmp_path / "tree", files(3, 5))
        let_holders_die(storage)
        half = without_a_copy(storage)
        report = checked(storage)
        assert (report.problems, report.half_done) == ([], len(half)), at
        halves += len(half)
        back_up(reopened(storage), tmp_path / "tree", files(7))
        run(storage)
        after = checked(storage)
        assert (after.problems, after.half_done, without_a_copy(storage)) == ([], 0, set()), at
        if not faulty.breakage.dead:
            break
    assert halves >= 2


def test_a_lost_copy_is_told_though_others_write(tmp_path: Path) -> None:
    """The lease of a session that did not put the object explains nothing."""
    storage = scene(tmp_path)
    (kept,) = list_backups(reopened(storage))
    name = f"copies/manifests/{kept.manifest_id}"
    del storage.objects[name]
    with reopened(storage).begin_write():
        report = checked(storage)
    assert [problem.object for problem in report.problems] == [name]
    assert report.half_done == 0


def test_a_copy_that_comes_when_a_prune_has_listed_its_packs_anew_is_no_damage(tmp_path: Path) -> None:
    """A medium may do at last what it did not answer (3.9). A copy that really is lost is told as before."""
    storage = scene(tmp_path)
    store = reopened(storage).store
    segments = store.read_whole(ObjectKind.INDEX, {}, lambda payload: decode(payload, SegmentRecord)).found
    names = [f"{COPIES}index/{each.hex()}" for each, record in segments.items() if record.packs]
    earlier = {name: storage.objects[name] for name in names}
    run(storage)
    late = {name: data for name, data in earlier.items() if name not in storage.objects}
    assert late
    storage.objects.update(late)
    report = checked(storage)
    assert (report.problems, report.half_done) == ([], len(late))
    run(storage)
    assert not late.keys() & storage.objects.keys()
    lost = next(name for name in storage.objects if name.startswith("index/"))
    del storage.objects[lost]
    assert [(each.kind, each.object) for each in checked(storage).problems] == [("copy", lost)]
