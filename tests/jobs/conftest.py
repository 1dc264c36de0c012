"""Fixtures of the tests of jobs: bells that remember, in place of a broker."""

from typing import Any

import pytest

from tests.jobs import bells


@pytest.fixture(autouse=True)
def _recording_bells(settings: Any) -> None:
    settings.SYNCOVA_DOORBELL = "tests.jobs.bells.ring"
    settings.SYNCOVA_WAKE = "tests.jobs.bells.wake"
    settings.SYNCOVA_INSPECT = "tests.repositories.doorbells.ring"
    bells.rung.clear()
    bells.woken.clear()
