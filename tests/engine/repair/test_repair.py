"""Each kind of damage on a real repository, repaired; and nothing made worse."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.check import copies as check_copies
from repositories.engine.errors import BackupNotFoundError, OperationCancelledError
from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.headers import FOOTER_LENGTH
from repositories.engine.format.kinds import COPIES, RESERVE_NAME, ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repair import RepairReport, RepairRequest, copies, repair
from repositories.engine.repair.aside import ASIDE, set_aside
from repositories.engine.repository import open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault, FaultyStorage, KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest
from tests.engine.trees import pattern

FILES, LARGE, SMALL = 4, 1_200_000, 1_000


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(check_copies, "_SETTLE_SECONDS", 0.0)


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    """Return a repository with two backups of some packs each of data and metadata."""
    return make_storage(tmp_path, LARGE)


@pytest.fixture
def small(tmp_path: Path) -> MemoryStorage:
    """Return the same of small files."""
    return make_storage(tmp_path, SMALL)


def make_storage(tmp_path: Path, size: int) -> MemoryStorage:
    storage = MemoryStorage()
    make_repository(storage)
    (tmp_path / "tree").mkdir()
    for number in range(FILES):
        (tmp_path / "tree" / f"file{number}").write_bytes(pattern(size, number))
    back_up(storage, tmp_path)
    (tmp_path / "tree" / "new").write_bytes(pattern(size // 4, 9))
    back_up(storage, tmp_path)
    return storage


def back_up(storage: Storage, tmp_path: Path) -> int:
    repository = open_repository(storage, PASSWORD)
    repository.warn = lambda _: None
    with repository.begin_write(SMALL_PACKS) as session:
        return back_up_tree(repository, tmp_path / "tree", session=session).new_chunks


def mend(storage: Storage, **wanted: object) -> RepairReport:
    request = RepairRequest(**{"secret": PASSWORD, **wanted})  # type: ignore[arg-type]
    return repair(open_repository(storage, PASSWORD), request, Hooks())


def run_check(storage: Storage, *, read_data: bool = True) -> CheckReport:
    return check(open_repository(storage, PASSWORD), CheckRequest(read_data), Hooks())


def packs(storage: MemoryStorage, pack_class: int) -> list[str]:
    found = open_repository(storage, PASSWORD).reader().index.packs().values()
    return [f"packs/{p.pack_id.hex()[:2]}/{p.pack_id.hex()}" for p in found if p.pack_class == pack_class]


def flip(storage: MemoryStorage, name: str, position: int | None = None) -> None:
    data = bytearray(storage.objects[name])
    data[len(data) // 2 if position is None else position] ^= 1
    storage.objects[name] = bytes(data)


def drop_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        del storage.objects[name]


def require_whole(storage: Storage, target: Path, size: int = LARGE) -> None:
    repository = open_repository(storage, PASSWORD)
    repository.warn = lambda _: None
    result = restore_latest(repository, target)
    assert (result.exit_code, result.files) == (0, FILES + 1)
    for number in range(FILES):
        assert (target / f"file{number}").read_bytes() == pattern(size, number)


def test_a_whole_repository_is_left_alone(storage: MemoryStorage) -> None:
    before = dict(storage.objects)
    report = mend(storage)
    assert (report.exit_code, report.steps) == (0, [])
    assert storage.objects == before


@pytest.mark.parametrize("kind", ["config", "keyrings", "slots", "index", "manifests"])
@pytest.mark.parametrize("harm", ["flip", "remove", "cut"])
def test_either_copy_is_written_again_from_the_other(storage: MemoryStorage, kind: str, harm: str) -> None:
    whole = dict(storage.objects)
    names = [name for name in storage.objects if name.startswith(f"{COPIES}{kind}/")]
    victims = [name if number % 2 else name.removeprefix(COPIES) for number, name in enumerate(names)]
    for name in victims:
        if harm == "flip":
            flip(storage, name, -1)
        elif harm == "remove":
            del storage.objects[name]
        else:
            storage.objects[name] = storage.objects[name][:-20]
    report = mend(storage)
    assert (report.exit_code, report.undone) == (0, 0)
    assert sorted(step.object for step in report.steps) == sorted(victims)
    assert {name: storage.objects.get(name) for name in whole} == whole


def test_what_is_damaged_in_both_copies_is_named_and_left(storage: MemoryStorage) -> None:
    name = next(each for each in storage.objects if each.startswith("manifests/"))
    for copy in (name, COPIES + name):
        flip(storage, copy, -1)
    before = dict(storage.objects)
    report = mend(storage)
    assert (report.exit_code, [step.object for step in report.steps]) == (13, [name])
    assert {each: storage.objects[each] for each in before} == before


def test_an_index_that_is_gone_is_made_again_from_the_packs(storage: MemoryStorage, tmp_path: Path) -> None:
    drop_index(storage)
    report = mend(storage)
    assert (report.exit_code, {step.kind for step in report.steps}) == (0, {"index"})
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")
    assert back_up(storage, tmp_path) == 0


def test_unreadable_segments_are_replaced_and_set_aside(storage: MemoryStorage, tmp_path: Path) -> None:
    names = [name for name in storage.objects if "index/" in name]
    for name in names:
        flip(storage, name, -1)
    hurt = dict(storage.objects)
    report = mend(storage)
    assert report.exit_code == 0
    assert all(storage.objects[ASIDE + name] == hurt[name] for name in names)
    assert not set(names) & storage.objects.keys()
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")


def test_a_bad_block_costs_its_own_chunks_alone_and_a_backup_heals(storage: MemoryStorage, tmp_path: Path) -> None:
    victim = packs(storage, 1)[0]
    flip(storage, victim)
    bad = storage.objects[victim]
    assert run_check(storage).exit_code == 13
    report = mend(storage)
    assert (report.exit_code, report.chunks_lost) == (13, 1)
    assert (storage.objects[ASIDE + victim], victim in storage.objects) == (bad, False)
    assert report.after.hurt
    assert report.after.hurt[0].paths
    # The source still has it: the next backup stores it, and the old backups are whole again.
    assert back_up(storage, tmp_path) >= 1
    after = run_check(storage)
    assert (after.ok, after.hurt, after.backups) == (True, [], 3)
    for number, backup in enumerate(list_backups(open_repository(storage, PASSWORD))):
        assert backup.root.statistics.files == FILES + (number > 0)
    require_whole(storage, tmp_path / "out")


def test_what_can_be_read_of_a_bad_pack_is_not_lost(storage: MemoryStorage, tmp_path: Path) -> None:
    """Nothing but the directory, the footer or a part of the blocks is hurt: all other chunks are stored anew."""
    for name in packs(storage, 1)[:1]:
        flip(storage, name, -1)
    assert run_check(storage, read_data=False).ok
    report = mend(storage, read_data=True)
    assert (report.exit_code, report.chunks_lost) == (0, 0)
    assert report.chunks_saved > 0
    require_whole(storage, tmp_path / "out")


@pytest.mark.parametrize("cut", [1, FOOTER_LENGTH, 150])
def test_packs_without_directory_and_index_are_salvaged(storage: MemoryStorage, tmp_path: Path, cut: int) -> None:
    """engine.md 3: a block begins with its own chunk table, so that a pack without its directory can be salvaged."""
    names = packs(storage, 1) + packs(storage, 2)
    for name in names:
        storage.objects[name] = storage.objects[name][:-cut]
    drop_index(storage)
    report = mend(storage)
    assert report.exit_code == 0
    assert all(ASIDE + name in storage.objects for name in names)
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")


def test_a_damaged_part_in_the_middle_does_not_hide_those_behind_it(storage: MemoryStorage, tmp_path: Path) -> None:
    """The header of a part says how long it is: where that is spoilt, the next parts are found by their magic."""
    pack = max(open_repository(storage, PASSWORD).reader().index.packs().values(), key=lambda each: len(each.blocks))
    assert len(pack.blocks) >= 1
    name = f"packs/{pack.pack_id.hex()[:2]}/{pack.pack_id.hex()}"
    flip(storage, name, pack.blocks[0].offset)
    storage.objects[name] = storage.objects[name][:-1]
    drop_index(storage)
    report = mend(storage)
    lost = sum(each.count for each in report.after.hurt)
    assert (report.exit_code, lost > 0) == (13, True)
    back_up(storage, tmp_path)
    require_whole(storage, tmp_path / "out")


def test_a_dry_run_writes_nothing_and_names_the_steps(storage: MemoryStorage) -> None:
    flip(storage, packs(storage, 1)[0])
    run_check(storage)
    flip(storage, next(name for name in storage.objects if name.startswith("manifests/")), -1)
    del storage.objects[RESERVE_NAME]
    before = dict(storage.objects)
    told = mend(storage, dry_run=True)
    assert {name: data for name, data in storage.objects.items() if not name.startswith("sessions/")} == before
    assert {step.kind for step in told.steps} == {"copy", "pack", "aside", "reserve"}
    assert not any(step.done for step in told.steps)
    done = mend(storage)
    assert [(step.kind, step.object) for step in done.steps] == [(step.kind, step.object) for step in told.steps]
    assert all(step.done for step in done.steps)


def test_what_was_set_aside_is_kept_whatever_lies_there(storage: MemoryStorage) -> None:
    storage.put("packs/ab/one", b"first")
    set_aside(storage, "packs/ab/one")
    storage.put("packs/ab/one", b"first")
    set_aside(storage, "packs/ab/one")
    storage.put("packs/ab/one", b"second")
    set_aside(storage, "packs/ab/one")
    set_aside(storage, "packs/ab/one")
    found = {name: data for name, data in storage.objects.items() if name.startswith(ASIDE)}
    assert found == {"aside/packs/ab/one": b"first", "aside/packs/ab/one.1": b"second"}


def test_a_cancelled_repair_is_run_again(storage: MemoryStorage, tmp_path: Path) -> None:
    drop_index(storage)
    repository = open_repository(storage, PASSWORD)
    with pytest.raises(OperationCancelledError):
        repair(repository, RepairRequest(secret=PASSWORD), Hooks(cancelled=lambda: True))
    assert mend(storage).exit_code == 0
    require_whole(storage, tmp_path / "out")


def hurt_packs(storage: MemoryStorage) -> None:
    """Hurt packs, so that no chunk is lost, and one copy of everything small."""
    flip(storage, packs(storage, 1)[0], -1)
    flip(storage, packs(storage, 2)[0], -1)
    for name in [name for name in storage.objects if name.startswith(COPIES)]:
        flip(storage, name, -1)


def hurt_index(storage: MemoryStorage) -> None:
    for name in [name for name in storage.objects if "index/" in name]:
        flip(storage, name, -1)


class EveryStep(FaultyStorage):
    """Breaks at removals, too."""

    def delete(self, name: str) -> None:
        self._breaks()
        super().delete(name)


@pytest.mark.parametrize("hurt", [hurt_packs, hurt_index])
def test_a_repair_killed_at_any_step_leaves_everything_restorable(
    small: MemoryStorage, tmp_path: Path, hurt: Callable[[MemoryStorage], None]
) -> None:
    hurt(small)
    require_whole(small, tmp_path / "before", SMALL)
    counting = EveryStep(copy_of(small))
    assert mend(counting, read_data=True).exit_code == 0
    assert counting.writes > 10
    for number in range(1, counting.writes + 1):
        inner = copy_of(small)
        with pytest.raises(KilledError):
            mend(EveryStep(inner, Fault.KILL, number), read_data=True)
        require_whole(inner, tmp_path / f"out{number}", SMALL)
        assert mend(inner, read_data=True).exit_code == 0


def copy_of(storage: MemoryStorage) -> MemoryStorage:
    inner = MemoryStorage()
    inner.objects.update(storage.objects)
    return inner


Choose = Callable[[str], str]


def sweep_all_but(storage: MemoryStorage, kept: set[str]) -> None:
    """Put a sweep that accepts only `kept` manifests, as a prune does that had given up on the others' sessions."""
    store = open_repository(storage, PASSWORD).store
    segments = b"".join(sorted(store.ids(ObjectKind.INDEX)))
    manifests = b"".join(sorted(map(bytes.fromhex, kept)))
    store.put(ObjectKind.SWEEP, encode(SweepRecord(1, bytes(16), 1, manifests, b"", segments, b"")))


@pytest.mark.parametrize("by", ["manifest_id", "id", "all"])
def test_void_manifests_are_adopted_after_all_was_read(storage: MemoryStorage, tmp_path: Path, by: str) -> None:
    first, second = list_backups(open_repository(storage, PASSWORD))
    sweep_all_but(storage, {first.manifest_id})
    report = run_check(storage)
    assert (report.ok, report.backups, report.void_manifests) == (True, 1, 1)
    assert mend(storage).adopted == ()
    with pytest.raises(BackupNotFoundError):
        mend(storage, adopt=("ffffffffffff",))
    wanted = "all" if by == "all" else str(getattr(second, by))[:20]
    adopted = mend(storage, adopt=(wanted,))
    assert (adopted.exit_code, adopted.adopted) == (0, (second.id,))
    assert [each.id for each in list_backups(open_repository(storage, PASSWORD))] == [first.id, second.id]
    require_whole(storage, tmp_path / "out")
    assert mend(storage, adopt=("all",)).adopted == ()


def test_a_void_manifest_that_lacks_anything_is_not_adopted(storage: MemoryStorage) -> None:
    first, _ = list_backups(open_repository(storage, PASSWORD))
    sweep_all_but(storage, {first.manifest_id})
    victim = packs(storage, 1)[-1]
    flip(storage, victim)
    report = mend(storage, adopt=("all",))
    assert (report.exit_code, report.adopted, report.undone) == (13, (), 1)
    assert len(list_backups(open_repository(storage, PASSWORD))) == 1
