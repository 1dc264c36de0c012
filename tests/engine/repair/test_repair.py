"""Each kind of damage on a real repository, repaired; and nothing made worse."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import OperationCancelledError
from repositories.engine.format.headers import FOOTER_LENGTH
from repositories.engine.format.kinds import COPIES, RESERVE_NAME
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MIB
from repositories.engine.manifest.backups import list_backups
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import run as prune
from tests.engine.repair.hurting import (
    FILES,
    back_up,
    drop_index,
    flip,
    lying_aside,
    mend,
    packs,
    require_whole,
    run_check,
)
from tests.engine.repositories import PASSWORD


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
    assert lying_aside(storage) == {name: hurt[name] for name in names}
    assert not set(names) & storage.objects.keys()
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")


def test_a_bad_block_costs_its_own_chunks_alone_and_a_backup_heals(storage: MemoryStorage, tmp_path: Path) -> None:
    victim = packs(storage, 1)[0]
    flip(storage, victim)
    bad = storage.objects[victim]
    assert run_check(storage).exit_code == 13
    report = mend(storage)
    assert report.exit_code == 13
    assert report.chunks_lost >= 1
    assert (lying_aside(storage), victim in storage.objects) == ({victim: bad}, False)
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
    assert lying_aside(storage).keys() == set(names)
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


@pytest.mark.parametrize("mends", ["repair", "prune"])
def test_a_cut_reserve_is_made_whole_again(storage: MemoryStorage, mends: str) -> None:
    storage.objects[RESERVE_NAME] = storage.objects[RESERVE_NAME][:1000]
    assert run_check(storage, read_data=False).reserve == "short"
    if mends == "repair":
        report = mend(storage)
        assert [(step.kind, step.done) for step in report.steps] == [("reserve", True)]
    else:
        prune(storage)
    assert len(storage.objects[RESERVE_NAME]) == 4 * MIB
    assert run_check(storage, read_data=False).reserve == "present"


def test_a_cut_reserve_stays_where_there_is_no_room(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.objects[RESERVE_NAME] = bytes(MIB)
    monkeypatch.setattr(MemoryStorage, "free_space", lambda _: MIB // 4)
    report = mend(storage)
    assert (report.undone, report.after.reserve) == (1, "short")
    assert "3.00 MiB of 4.00 MiB are missing, and 256 KiB are free" in report.steps[0].message
    assert "3.00 MiB of 4.00 MiB are missing, and 256 KiB are free" in prune(storage).reserve_lack
    assert storage.objects[RESERVE_NAME] == bytes(MIB)


@pytest.mark.parametrize("mends", ["repair", "prune"])
def test_a_reserve_is_made_whole_with_little_more_room_than_it_takes(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, mends: str
) -> None:
    """A `forget` on a full medium leaves seven eighths."""
    storage.objects[RESERVE_NAME] = bytes(7 * MIB // 2)
    monkeypatch.setattr(MemoryStorage, "free_space", lambda _: 5 * MIB)
    if mends == "repair":
        assert mend(storage).exit_code == 0
    else:
        assert prune(storage).reserve_lack == ""
    assert len(storage.objects[RESERVE_NAME]) == 4 * MIB


def test_a_cancelled_repair_is_run_again(storage: MemoryStorage, tmp_path: Path) -> None:
    drop_index(storage)
    repository = open_repository(storage, PASSWORD)
    with pytest.raises(OperationCancelledError):
        repair(repository, RepairRequest(secret=PASSWORD), Hooks(cancelled=lambda: True))
    assert mend(storage).exit_code == 0
    require_whole(storage, tmp_path / "out")


def test_what_a_writer_may_still_be_at_is_left_to_it(storage: MemoryStorage) -> None:
    """A pair is put one copy after the other: a repair must not put the second one in its writer's place."""
    session = open_repository(storage, PASSWORD).begin_write()
    session.put(ChunkKind.DATA, b"in the making")
    session.flush()
    name = max(
        (name for name in storage.objects if name.startswith(f"{COPIES}index/")), key=list(storage.objects).index
    )
    data = storage.objects.pop(name)
    report = mend(storage)
    assert (report.exit_code, report.steps, name in storage.objects) == (0, [], False)
    session.close()
    assert mend(storage).exit_code == 0
    assert storage.objects[name] == data
