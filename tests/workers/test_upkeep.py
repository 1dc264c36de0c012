"""Prune runs carried out by the executor, with the real engine: what the run's log warns of."""

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.states import RunKind
from repositories.engine.limits import MIB
from repositories.engine.process.prune_operation import prune_fields
from repositories.engine.prune import PruneReport
from tests.workers.scenario import Ground
from tests.workers.test_executor import Control, execute, request_for
from workers.upkeep import _pruned

pytestmark = pytest.mark.django_db


def test_a_prune_run_that_cannot_put_the_reserve_back_warns(place: Ground) -> None:
    """3.4: the next full medium may not be cleaned."""
    reserve = Path(place.location, "reserve")
    reserve.unlink()
    (reserve / "what no put replaces").mkdir(parents=True)
    control = Control()
    result = execute(replace(request_for(place), kind=RunKind.PRUNE), control)
    assert (result.failure, result.parameters["finished"], result.figures.warnings) == (None, True, 1)
    assert any(
        line.startswith("warning: The reserve is gone: 4.00 MiB of 4.00 MiB are missing") for line in control.lines
    )


def test_a_prune_run_that_lacks_room_to_pack_anew_says_how_much_and_warns() -> None:
    control = Control()
    report = prune_fields(PruneReport(repack_stopped="there is no room", repack_needs=2 * MIB, repack_free=MIB))
    result = _pruned(control, report)
    assert (result.failure, result.parameters["finished"], result.figures.warnings) == (None, False, 1)
    told = result.parameters
    assert (told["repack_stopped"], told["repack_needs_bytes"], told["repack_free_bytes"]) == (
        "there is no room",
        2 * MIB,
        MIB,
    )
    assert any("2.00 MiB must be free on the medium, 1.00 MiB are" in line for line in control.lines)
