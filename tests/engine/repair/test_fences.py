"""Marks and sweeps that cannot be read are put out of force, and no backup that was reported is lost (3.2, 3.11)."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import CommitRefusedError, IntegrityError
from repositories.engine.format.collection import MarkRecord, SessionPurpose, SweepRecord
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, object_name
from repositories.engine.format.records import decode, encode
from repositories.engine.ids import ChunkKind
from repositories.engine.keychain import rotate
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.prune.fence import Fence
from repositories.engine.prune.keeping import Kept
from repositories.engine.repair import RepairRequest, list_aside, repair
from repositories.engine.repair.doubtful import NOTE
from repositories.engine.repository import open_repository
from repositories.engine.retention.writing import NotesWriter
from repositories.engine.sessions.leases import Lease
from repositories.engine.sessions.views import read_marks, read_newest_sweep
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.repair.hurting import back_up, flip, lying_aside, mend, require_whole, run_check
from tests.engine.repositories import PASSWORD

_PRUNE = b"a prune that died"[:16]


def put_mark(storage: MemoryStorage, number: int, packs: bytes = b"") -> str:
    """Put the mark of a prune that died; return its name."""
    store = open_repository(storage, PASSWORD).store
    return object_name(ObjectKind.MARK, store.put(ObjectKind.MARK, encode(MarkRecord(number, _PRUNE, 1, packs))))


def put_sweep(storage: MemoryStorage, number: int, kept: set[str]) -> str:
    """Put a sweep that accepts `kept` manifests and all segments; return its name."""
    store = open_repository(storage, PASSWORD).store
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    manifests = b"".join(sorted(map(bytes.fromhex, kept)))
    record = SweepRecord(number, _PRUNE, 1, manifests, b"", segments, b"")
    return object_name(ObjectKind.SWEEP, store.put(ObjectKind.SWEEP, encode(record)))


def spoil(storage: MemoryStorage, *names: str) -> dict[str, bytes]:
    """Damage every copy; return the bytes that lie there then."""
    copies = [copy for name in names for copy in (name, COPIES + name) if copy in storage.objects]
    for copy in copies:
        flip(storage, copy, -1)
    return {copy: storage.objects[copy] for copy in copies}


def run_prune(storage: MemoryStorage) -> int:
    repository = open_repository(storage, PASSWORD)
    assert prune(repository, PruneRequest(), Hooks(clock=SYSTEM_CLOCK)).finished
    return read_newest_sweep(repository.store).number


def listed(storage: MemoryStorage) -> list[str]:
    return [backup.manifest_id for backup in list_backups(open_repository(storage, PASSWORD))]


def require_aside(storage: MemoryStorage, bad: dict[str, bytes]) -> None:
    assert lying_aside(storage) == bad
    assert not bad.keys() & storage.objects.keys()


def test_an_unreadable_mark_is_overruled_and_all_goes_on(storage: MemoryStorage, tmp_path: Path) -> None:
    bad = spoil(storage, put_mark(storage, 7))
    with pytest.raises(IntegrityError):
        back_up(storage, tmp_path)
    with pytest.raises(IntegrityError):
        run_prune(storage)
    report = mend(storage)
    assert (report.exit_code, [step.kind for step in report.steps]) == (0, ["mark"])
    require_aside(storage, bad)
    assert back_up(storage, tmp_path) == 0
    assert run_prune(storage) > 7
    assert (run_check(storage).ok, len(listed(storage))) == (True, 3)
    require_whole(storage, tmp_path / "out")
    assert mend(storage).steps == []


@pytest.mark.parametrize("readable", [(), (3,), (6, 8)])
def test_its_number_never_comes_again_while_a_writer_may_judge_itself_by_it(
    storage: MemoryStorage, readable: tuple[int, ...]
) -> None:
    """The writer began when the mark could be read, and refers to a pack that the next prune takes."""
    for number in readable:
        put_mark(storage, number)
    name = put_mark(storage, max((*readable, 8)) + 1)
    repository = open_repository(storage, PASSWORD)
    with repository.begin_write() as loose:
        loose.put(ChunkKind.DATA, b"what no backup uses")
        loose.flush()
    writer = repository.begin_write()
    chunk = writer.chunk_id(ChunkKind.DATA, b"what no backup uses")
    assert writer.has(ChunkKind.DATA, chunk)
    location = writer.reader().locate(ChunkKind.DATA, chunk)
    assert location is not None
    spoil(storage, name)
    assert mend(storage).exit_code == 0
    store = open_repository(storage, PASSWORD).store
    fence = Fence(store, b"the next prune  ", SYSTEM_CLOCK, lambda: None)
    assert fence.mark(frozenset({location.pack})) > writer.fence
    everything = frozenset(store.ids(ObjectKind.MANIFEST))
    kept = Kept(everything, frozenset(), frozenset(), frozenset(), 0)
    fence.sweep(kept, frozenset(store.ids(ObjectKind.INDEX)), frozenset({location.pack}))
    storage.delete(object_name(ObjectKind.PACK, location.pack))
    with pytest.raises(CommitRefusedError):
        writer.commit(b"root", lambda: None)
    writer.close()


def test_a_mark_that_is_overruled_twice_gets_ever_higher_numbers(storage: MemoryStorage) -> None:
    spoil(storage, put_mark(storage, 1))
    mend(storage)
    (first,) = (name for name in storage.objects if name.startswith("marks/"))
    number = read_marks(open_repository(storage, PASSWORD).store).highest
    spoil(storage, first)
    mend(storage)
    assert read_marks(open_repository(storage, PASSWORD).store).highest > number


def test_a_lost_sweep_costs_no_backup_and_the_doubtful_one_is_named(storage: MemoryStorage, tmp_path: Path) -> None:
    """The first backup is named by the second, which is named by none: whether a prune gave it up, nobody knows."""
    before = listed(storage)
    bad = spoil(storage, put_sweep(storage, 3, set(before)))
    with pytest.raises(IntegrityError):
        listed(storage)
    report = mend(storage)
    assert report.exit_code == 13
    assert [(step.kind, step.object, step.done) for step in report.steps[:1]] == [
        ("manifest", f"manifests/{before[-1]}", False)
    ]
    assert [step.kind for step in report.steps[1:]] == ["sweep"]
    assert report.after.ok
    require_aside(storage, bad)
    assert listed(storage) == before
    notes = open_repository(storage, PASSWORD).notes()
    assert [each.hex() for each in notes.annotations] == before[-1:]
    assert [each.text for each in notes.of(bytes.fromhex(before[-1]))] == [NOTE]
    assert (mend(storage).exit_code, run_check(storage).ok) == (0, True)
    assert back_up(storage, tmp_path) == 0
    require_whole(storage, tmp_path / "out")
    assert run_prune(storage) > 3
    assert run_check(storage).ok
    assert len(listed(storage)) == 3


def test_a_backup_that_a_lost_sweep_had_given_up_and_that_lacks_something_is_named_as_hurt(
    storage: MemoryStorage,
) -> None:
    """Its packs may be gone: it is listed, and never as a good one."""
    repository = open_repository(storage, PASSWORD)
    newest = list_backups(repository)[-1]
    packs = {pack.pack_id for pack in repository.reader().index.packs().values() if pack.pack_class == 1}
    spoil(storage, put_sweep(storage, 3, {listed(storage)[0]}))
    storage.delete(object_name(ObjectKind.PACK, max(packs)))
    report = mend(storage)
    assert report.exit_code == 13
    assert report.after.hurt
    assert all(hurt.paths for hurt in report.after.hurt)
    assert newest.manifest_id in {step.object.removeprefix("manifests/") for step in report.steps}


def test_an_older_sweep_that_can_be_read_still_says_what_is_void(storage: MemoryStorage) -> None:
    first, second = listed(storage)
    put_sweep(storage, 2, {first})
    assert listed(storage) == [first]
    spoil(storage, put_sweep(storage, 3, {first}))
    report = mend(storage)
    assert (report.exit_code, listed(storage)) == (0, [first])
    adopted = mend(storage, adopt=(second,))
    assert (len(adopted.adopted), len(listed(storage))) == (1, 2)


def test_what_is_deleted_stays_deleted(storage: MemoryStorage) -> None:
    first, second = listed(storage)
    repository = open_repository(storage, PASSWORD)
    NotesWriter(repository.store, SYSTEM_CLOCK).delete([bytes.fromhex(second)], "test")
    spoil(storage, put_sweep(storage, 3, {first, second}))
    assert mend(storage).exit_code == 0
    assert listed(storage) == [first]


def test_a_manifest_put_meanwhile_is_refused_and_not_lost_silently(storage: MemoryStorage) -> None:
    """A writer that was at work when the sweep was lost looks at the marks before it says that it is done."""
    writer = open_repository(storage, PASSWORD).begin_write()
    writer.put(ChunkKind.DATA, b"its own")
    writer.flush()
    spoil(storage, put_sweep(storage, 3, set(listed(storage))))
    with pytest.raises(IntegrityError):
        writer.commit(b"root", lambda: None)
    writer.close()
    mend(storage)
    store = open_repository(storage, PASSWORD).store
    records = [decode(store.read(ObjectKind.MANIFEST, each), ManifestRecord) for each in store.ids(ObjectKind.MANIFEST)]
    assert max(record.fence for record in records) < read_newest_sweep(store).number


def test_beside_a_prune_that_lives_nothing_is_done_and_that_is_told(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repositories.engine.repair.fences.time.sleep", lambda _: None)
    repository = open_repository(storage, PASSWORD)
    lease = Lease(repository.store, SessionPurpose.PRUNE, 1)
    bad = spoil(storage, put_mark(storage, 4))
    report = mend(storage)
    assert (report.exit_code, report.undone) == (13, 1)
    assert "another prune" in report.steps[0].message
    assert bad.items() <= storage.objects.items()
    lease.end()
    assert mend(storage).exit_code == 0


@pytest.mark.parametrize("lost", ["mark", "sweep"])
def test_a_dry_run_tells_and_changes_nothing(storage: MemoryStorage, lost: str) -> None:
    name = put_mark(storage, 4) if lost == "mark" else put_sweep(storage, 4, set(listed(storage)))
    spoil(storage, name)
    before = dict(storage.objects)
    report = mend(storage, dry_run=True)
    assert ([(step.kind, step.done) for step in report.steps], report.exit_code) == ([(lost, False)], 13)
    assert storage.objects == before
    assert any(name in problem.object for problem in report.after.problems)


@pytest.mark.parametrize("with_mark", [True, False])
def test_what_a_newer_key_sealed_is_not_taken_for_damaged(
    storage: MemoryStorage, tmp_path: Path, with_mark: bool
) -> None:
    """A repair that was opened before a rotation must not move what was put after it."""
    early = open_repository(storage, PASSWORD)
    rotate(keychain(storage), [PASSWORD])
    if with_mark:
        put_mark(storage, 4)
    (tmp_path / "tree" / "under the new key").write_bytes(b"new")
    back_up(storage, tmp_path)
    before = dict(storage.objects)
    with pytest.raises(CommitRefusedError):
        repair(early, RepairRequest(secret=PASSWORD), Hooks())
    assert before.items() <= storage.objects.items()
    assert not list_aside(storage)
