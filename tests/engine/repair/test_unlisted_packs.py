"""Packs that no index names: a check or a repair that reads data reads those, too, if backups need them.

Nothing that cannot be restored may be called whole (promise 1).
"""

from pathlib import Path

import pytest

from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repair.hurting import back_up, drop_index, flip, lying_aside, mend, packs, require_whole, run_check


def lose_index_and_hurt(storage: MemoryStorage) -> str:
    """Return the name of the biggest pack of data, now damaged and in no index."""
    name = max(packs(storage, 1), key=lambda each: len(storage.objects[each]))
    for each in [each for each in storage.objects if each.startswith("verified/")]:
        del storage.objects[each]
    drop_index(storage)
    flip(storage, name, 4000)
    return name


def test_a_repair_that_reads_finds_the_damage_in_packs_that_it_lists_anew(
    storage: MemoryStorage, tmp_path: Path
) -> None:
    name = lose_index_and_hurt(storage)
    report = mend(storage, read_data=True)
    assert report.exit_code == 13
    assert {"index", "pack", "aside"} <= {step.kind for step in report.steps}
    assert report.chunks_lost > 0
    assert list(lying_aside(storage)) == [name]
    assert report.after.hurt
    assert run_check(storage).exit_code == 13
    assert back_up(storage, tmp_path) > 0
    assert run_check(storage).ok
    require_whole(storage, tmp_path / "out")


def test_a_dry_run_finds_it_and_changes_nothing(storage: MemoryStorage) -> None:
    name = lose_index_and_hurt(storage)
    before = dict(storage.objects)
    report = mend(storage, read_data=True, dry_run=True)
    assert report.exit_code == 13
    assert name in {step.object for step in report.steps}
    assert storage.objects == before


@pytest.mark.parametrize("all_lost", [True, False])
def test_a_check_that_reads_data_reads_packs_that_no_index_names(storage: MemoryStorage, *, all_lost: bool) -> None:
    whole = dict(storage.objects)
    name = lose_index_and_hurt(storage)
    storage.objects[name] = whole[name]
    if not all_lost:
        keep_other_segments(storage, whole, name)
    sound = run_check(storage)
    assert {problem.kind for problem in sound.problems} == {"index"}
    assert "what of it is whole can be restored" in sound.problems[0].message
    assert sound.proof.unread_packs == 0
    assert not sound.hurt
    flip(storage, name, 4000)
    report = run_check(storage)
    assert name in {problem.object for problem in report.problems}
    assert report.hurt


def keep_other_segments(storage: MemoryStorage, whole: dict[str, bytes], pack: str) -> None:
    """Put back all index segments but the one that names `pack`."""
    segments = {each for each in whole if each.startswith("index/")}
    for segment in segments:
        storage.objects.update({each: whole[each] for each in (segment, f"copies/{segment}")})
        if pack in packs(storage, 1):
            del storage.objects[segment], storage.objects[f"copies/{segment}"]
    assert any(each.startswith("index/") for each in storage.objects)


def test_a_check_of_structure_does_not_vouch_for_them(storage: MemoryStorage) -> None:
    lose_index_and_hurt(storage)
    report = run_check(storage, read_data=False)
    assert [problem.kind for problem in report.problems] == ["index"]
    assert report.problems[0].message.endswith("it can be restored, if it is whole")
    assert report.proof.read_packs == 0
    assert report.proof.never_packs == report.proof.packs > 0
