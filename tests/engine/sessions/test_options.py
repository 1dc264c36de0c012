"""Default options of a writer fit the processors that it may use (4.4, peak memory of engine.md, section 8)."""

import os

import pytest

from repositories.engine.limits import MIB
from repositories.engine.sessions.options import WriteOptions


@pytest.mark.parametrize(
    ("processors", "workers", "in_flight"), [(1, 2, 16), (2, 2, 16), (4, 4, 16), (6, 6, 24), (8, 8, 32), (64, 8, 32)]
)
def test_threads_and_bytes_in_flight_follow_the_processors(
    monkeypatch: pytest.MonkeyPatch, processors: int, workers: int, in_flight: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    options = WriteOptions()
    assert (options.workers, options.in_flight) == (workers, in_flight * MIB)
