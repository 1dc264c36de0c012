"""What piles up over the years goes: tombstones, results of checks, earlier generations of the keys (3.3, 3.4)."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import EngineError
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.inventories import InventoryRecord
from repositories.engine.format.kinds import COPIES, DIRECTORIES, ObjectKind, object_id_of
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import decode, encode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.keychain import rotate
from repositories.engine.packs.directory import PackClass
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.prune.keeping import UNFINISHED_LIFE_NS
from repositories.engine.repository import Repository
from repositories.engine.retention.merging import SEVERAL
from repositories.engine.sessions.fences import join_ids
from repositories.engine.storage.faults import Breakage, Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import StandingClock
from tests.engine.faults.stage import medium_of
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.repositories import PASSWORD, make_repository

FAULTS = (Fault.KILL, Fault.FAIL, Fault.TEAR, Fault.LOSE_ANSWER)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def ids(storage: MemoryStorage, kind: ObjectKind) -> set[bytes]:
    return set(reopened(storage).store.ids(kind))


def tombstones(storage: MemoryStorage) -> list[TombstoneRecord]:
    store = reopened(storage).store
    return [
        decode(store.read(ObjectKind.TOMBSTONE, each), TombstoneRecord) for each in ids(storage, ObjectKind.TOMBSTONE)
    ]


def deleted(storage: MemoryStorage) -> frozenset[bytes]:
    repository = reopened(storage)
    return repository.notes().deleted(repository.clock.now_ns())


def gone(numbers: Iterable[int]) -> list[str]:
    """Return ids of manifests that are not there."""
    return [number.to_bytes(16, "big").hex() for number in numbers]


def test_daily_deletions_end_in_one_tombstone(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    """Ids of all stay known: what a machine remembers to have seen is no loss years later (3.14)."""
    content = files(1)
    days: list[str] = []
    for day in range(SEVERAL + 4):
        days.append(back_up(repository, tmp_path / "tree", content | {"day": b"%d" % day}))
        if day:
            forget(repository, days[-2])
            run(storage)
    assert len(ids(storage, ObjectKind.TOMBSTONE)) < SEVERAL
    assert deleted(storage) == set(map(bytes.fromhex, days[:-1]))
    require_backup(reopened(storage), days[-1], content | {"day": b"%d" % (SEVERAL + 3)}, tmp_path / "out")
    checked(storage)


def test_a_deletion_that_was_undone_and_done_again_goes_in_two_steps(
    repository: Repository, storage: MemoryStorage
) -> None:
    first = forget(repository, *gone([1]))
    forget(repository, *gone([1]), undoes=first)
    for number in range(1, SEVERAL + 1):
        forget(repository, *gone([number]))
    named = set(map(bytes.fromhex, gone(range(1, SEVERAL + 1))))
    run(storage)
    assert [record.undoes for record in tombstones(storage) if record.undoes] == [first]
    assert first not in ids(storage, ObjectKind.TOMBSTONE)
    assert deleted(storage) == named
    for number in range(100, 100 + SEVERAL):
        forget(repository, *gone([number]))
    run(storage)
    (left,) = tombstones(storage)
    assert named < set(left.manifests) == deleted(storage)


def test_a_deletion_that_was_undone_stays_undone(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    backup = back_up(repository, tmp_path / "tree", files(1))
    together = forget(repository, backup, *gone(range(SEVERAL)))
    forget(repository, backup, undoes=together)
    for number in range(2 * SEVERAL):
        forget(repository, *gone([100 + number]))
    for _ in range(3):
        run(storage)
        forget(repository, *gone(range(200, 200 + SEVERAL)))
    assert together in ids(storage, ObjectKind.TOMBSTONE)
    assert bytes.fromhex(backup) not in deleted(storage)
    require_backup(reopened(storage), backup, files(1), tmp_path / "out")


def test_an_unreadable_tombstone_may_undo_any(repository: Repository, storage: MemoryStorage) -> None:
    for number in range(SEVERAL):
        forget(repository, *gone([number]))
    unreadable = f"tombstones/{bytes(16).hex()}"
    some = next(data for name, data in storage.objects.items() if name.startswith("tombstones/"))
    storage.put(unreadable, some)
    run(storage)
    assert len(ids(storage, ObjectKind.TOMBSTONE)) == SEVERAL + 1
    del storage.objects[unreadable]
    run(storage)
    assert len(ids(storage, ObjectKind.TOMBSTONE)) == 1


def test_results_of_checks_on_packs_of_long_ago_go(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """Also where the prune that took those packs was killed before it came to their results."""
    first = back_up(repository, tmp_path / "tree", files(1))
    packs = reopened(storage).reader().index.packs().values()
    (stays,) = [pack.pack_id for pack in packs if pack.pack_class == PackClass.DATA]
    store = repository.store
    old = store.put(ObjectKind.VERIFIED, encode(CheckedRecord(1, join_ids([bytes(16)]))))
    both = store.put(ObjectKind.VERIFIED, encode(CheckedRecord(2, join_ids([bytes(16), stays]))))
    hurt = store.put(ObjectKind.VERIFIED, encode(CheckedRecord(3, join_ids([bytes(16)]), b"")))
    lost = store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, bytes(16), b"", "missing")))
    withdrawn = store.put(ObjectKind.DAMAGE, encode(DamageRecord(2, bytes(16), b"", "found whole", join_ids([lost]))))
    known = store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, stays, bytes(32), "flipped")))
    back_up(repository, tmp_path / "tree", files(2))
    back_up(repository, tmp_path / "tree", files(1), name="other")
    forget(repository, first)
    assert run(storage).sweep
    assert ids(storage, ObjectKind.VERIFIED) & {old, both, hurt} == {both, hurt}
    assert ids(storage, ObjectKind.DAMAGE) & {lost, withdrawn, known} == {known}


def test_a_check_that_is_repeated_daily_is_reason_enough_for_a_sweep(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    back_up(repository, tmp_path / "tree", files(1))
    packs = join_ids(frozenset(ids(storage, ObjectKind.PACK)))
    assert run(storage).sweep == 0
    for day in range(SEVERAL + 1):
        repository.store.put(ObjectKind.VERIFIED, encode(CheckedRecord(day, packs, b"")))
    assert run(storage).sweep == 1
    assert len(ids(storage, ObjectKind.VERIFIED)) == 1
    assert run(storage).sweep == 0


def rotated(storage: MemoryStorage, times: int) -> None:
    for _ in range(times):
        rotate(keychain(storage), [PASSWORD])


def test_of_earlier_generations_nothing_is_left(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    backup = back_up(repository, tmp_path / "tree", files(1))
    deleted_one = back_up(repository, tmp_path / "tree", files(2))
    left_by_a_dead_rotation = bytes(15) + b"\1"
    store = reopened(storage).store
    store.put(ObjectKind.INVENTORY, encode(InventoryRecord(1, ())), left_by_a_dead_rotation)
    storage.put("intents/00000001/" + "ab" * 16, b"torn")
    rotated(storage, 3)
    assert len(ids(storage, ObjectKind.INVENTORY)) == 4
    forget(reopened(storage), deleted_one)
    run(storage)
    keyring = reopened(storage).keyring
    assert ids(storage, ObjectKind.INVENTORY) == {keyring.record.inventory_id}
    for kind in (ObjectKind.KEYRING, ObjectKind.SLOT, ObjectKind.INTENT):
        left = {name.split("/")[-2] for name in storage.objects if f"{DIRECTORIES[kind]}/" in name}
        assert left <= {f"{keyring.generation:08x}"}
    require_backup(reopened(storage), backup, files(1), tmp_path / "out")
    checked(storage)
    rotated(storage, 1)
    require_backup(reopened(storage), backup, files(1), tmp_path / "again")


def test_half_of_an_old_keyring_is_no_damage(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    """A prune that died between its two copies leaves it so; the next one that sweeps takes the other."""
    back_up(repository, tmp_path / "tree", files(1))
    rotated(storage, 1)
    (old,) = (name for name in storage.objects if name.startswith("keyrings/00000001/"))
    del storage.objects[old]
    assert COPIES + old in storage.objects
    checked(storage)
    forget(reopened(storage), back_up(reopened(storage), tmp_path / "tree", files(2)))
    assert run(storage).sweep
    assert COPIES + old not in storage.objects
    checked(storage)


def test_a_void_manifest_is_left_to_repair_for_two_weeks(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    kept, void = (back_up(repository, tmp_path / "tree", files(number)) for number in (1, 2))
    segments = join_ids(frozenset(ids(storage, ObjectKind.INDEX)))
    sweep = SweepRecord(1, bytes(16), 1, bytes.fromhex(kept), b"", segments, b"")
    repository.store.put(ObjectKind.SWEEP, encode(sweep))
    clock = StandingClock(repository.clock.now_ns() + UNFINISHED_LIFE_NS - 10**12)
    prune(reopened(storage), PruneRequest(), Hooks(clock=clock))
    assert bytes.fromhex(void) in ids(storage, ObjectKind.MANIFEST)
    clock.time_ns += 2 * 10**12
    prune(reopened(storage), PruneRequest(), Hooks(clock=clock))
    assert ids(storage, ObjectKind.MANIFEST) == {bytes.fromhex(kept)}
    assert bytes.fromhex(void) in deleted(storage), "whoever names it among the heads must not take it for lost"
    require_backup(reopened(storage), kept, files(1), tmp_path / "out")
    assert checked(storage).void_manifests == 0


class Scene:
    """One backup, many deletions that are done, and what three rotations have left."""

    def __init__(self, root: Path) -> None:
        storage = MemoryStorage()
        repository = make_repository(storage)
        self.content = files(1, size=2_000)
        first = back_up(repository, root / "tree", files(2, size=2_000))
        self.backup = back_up(repository, root / "tree", self.content)
        undone = forget(repository, *gone([0]))
        forget(repository, *gone([0]), undoes=undone)
        for number in range(SEVERAL + 4):
            forget(repository, *gone([number]))
        rotated(storage, 2)
        forget(reopened(storage), first)
        self.deleted = frozenset(map(bytes.fromhex, (first, *gone(range(SEVERAL + 4)))))
        self.storage = storage

    def require_whole(self, objects: dict[str, bytes]) -> None:
        """A prune that comes later finishes; what is deleted is what was, and the backup is there."""
        after = MemoryStorage()
        after.objects.update({name: data for name, data in objects.items() if not name.startswith("sessions/")})
        assert deleted(after) == self.deleted
        run(after)
        assert deleted(after) == self.deleted
        assert {each.object_id for each in reopened(after).backups()} == {self.backup}
        left = {name.split("/")[0] for name in after.objects}
        assert left.isdisjoint({"marks", "sessions"})


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("remains"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_while_remains_are_removed_changes_nothing_that_counts(scene: Scene, fault: Fault) -> None:
    """At operations from the mark on; what is half done is done by the next prune (3.9)."""
    whole, counting = medium_of(scene.storage.objects), Breakage(Fault.KILL)
    assert run(FaultyStorage(whole, breakage=counting)).finished
    assert len(ids(whole, ObjectKind.TOMBSTONE)) < SEVERAL
    assert len({object_id_of(name) for name in whole.objects if "inventories/" in name}) == 1
    last = counting.operations
    step = 1 if os.environ.get("EVERY_OPERATION") else 23
    for at in range(last // 2 + 5 * FAULTS.index(fault), last + 1, step):
        storage = medium_of(scene.storage.objects)
        with contextlib.suppress(EngineError, KilledError):
            run(FaultyStorage(storage, breakage=Breakage(fault, at)))
        scene.require_whole(storage.objects)
