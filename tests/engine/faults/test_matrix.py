"""A sample of the matrix of faults; `python -m tests.long.faults` plays all of it (3.9, 3.12)."""

from pathlib import Path

import pytest

from repositories.engine.storage.faults import Operation
from tests.engine.chance import chance_of
from tests.engine.faults.acts import ACTS
from tests.engine.faults.matrix import WAYS, Case, count, play, settled, spread
from tests.engine.faults.stage import Stage

SAMPLE = 2


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("stage"))


@pytest.fixture(scope="module")
def totals() -> dict[tuple[str, Operation], int]:
    """What was counted so far: how many requests an operation makes does not depend on how they break."""
    return {}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_fault_loses_nothing(stage: Stage, totals: dict[tuple[str, Operation], int], act: str, way: str) -> None:
    """Committed backups restore bit for bit, nothing half is listed, the next backup and prune need no hand."""
    key = act, WAYS[way].among
    if key not in totals:
        totals[key] = count(stage, ACTS[act], way)
        assert totals[key]
    for at in spread(totals[key], SAMPLE, way):
        play(stage, ACTS[act], way, at)


def test_the_stage_gives_a_prune_all_kinds_of_work(stage: Stage) -> None:
    with settled():
        case = Case(stage, ACTS["prune"], WAYS["kill"])
        case.attempt()
    assert case.told.deleted_packs > case.told.repacked_packs >= 1
    assert case.told.removed_backups == 1


def test_a_backup_of_the_stage_puts_checkpoints(stage: Stage) -> None:
    with settled():
        case = Case(stage, ACTS["backup"], WAYS["kill"])
        case.attempt()
    assert any(stored.name.startswith("checkpoints/") for stored in case.media[0].list(""))


def test_a_repair_that_slept_past_a_prune_sets_nothing_aside_that_is_needed(tmp_path: Path) -> None:
    """Under these keys a chunk of a bad pack lies in a good one, too, which the prune meanwhile takes."""
    act = ACTS["repair-copies-and-packs"]
    with chance_of("a chunk in a bad pack and in a good one: 1"):
        stage = Stage(tmp_path)
        total = count(stage, act, "sleep")
        for at in range(total - 190, total - 130, 4):
            play(stage, act, "sleep", at)
