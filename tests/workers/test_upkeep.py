"""Prune runs carried out by the executor, with the real engine: what the run's log warns of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.states import RunKind
from tests.workers import scenario
from tests.workers.test_executor import Control, execute, request_for

pytestmark = pytest.mark.django_db


def test_a_prune_run_that_cannot_put_the_reserve_back_warns(tmp_path: Path, settings: Any) -> None:
    """3.4: the next full medium may not be cleaned."""
    settings.SYNCOVA_INSPECT = ""
    place = scenario.ground(tmp_path, "direct")
    reserve = Path(place.location, "reserve")
    reserve.unlink()
    (reserve / "what no put replaces").mkdir(parents=True)
    control = Control()
    result = execute(replace(request_for(place), kind=RunKind.PRUNE), control)
    assert (result.failure, result.parameters["finished"], result.figures.warnings) == (None, True, 1)
    assert any(
        line.startswith("warning: The reserve is gone: 4.00 MiB of 4.00 MiB are missing") for line in control.lines
    )
