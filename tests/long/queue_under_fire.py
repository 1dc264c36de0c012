"""2,000 runs over 50 repositories on forty slots, with four schedulers: the queue's promises under fire (6.10).

    ./syncova test tests/long/queue_under_fire.py

Takes minutes. What is judged, and how, is tests.jobs.queue_verdicts'; the seed of a failure is told with it.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.jobs import bells
from tests.jobs.queue_under_fire import Scale
from tests.jobs.queue_verdicts import stays
from tests.jobs.test_queue_under_fire import judged

LARGE = Scale(runs=2000, repositories=50, slots=40, workers=4, seconds=0.5)


@pytest.fixture(autouse=True)
def recording_bells(settings: Any) -> Iterator[None]:
    settings.SYNCOVA_DOORBELL, settings.SYNCOVA_WAKE = "tests.jobs.bells.ring", "tests.jobs.bells.wake"
    yield
    bells.rung.clear()


@pytest.mark.timeout(3600)
@pytest.mark.django_db(transaction=True)
def test_forty_slots_and_two_thousand_runs(settings: Any) -> None:
    """C1, C2, C3, D1."""
    fire = judged(LARGE, settings)
    assert len(stays()) >= LARGE.runs
    assert fire.looks > 100
