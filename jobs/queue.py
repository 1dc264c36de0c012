"""The order of the queue: classes that age (C1). Pure.

Owns the figures: waiting earns 50 points an hour, at most 100, so a run rises one class and never passes a critical
one that waits as long.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Final

from jobs.states import Priority

BASE: Final[Mapping[str, int]] = {Priority.LOW: 0, Priority.NORMAL: 100, Priority.HIGH: 200, Priority.CRITICAL: 300}
POINTS_AN_HOUR: Final = 50
MOST_POINTS: Final = 100

OrderKey = tuple[float, int, dt.datetime, uuid.UUID]


def base_priority(priority: str) -> int:
    """Return the points of a class; an unknown one is normal."""
    return BASE.get(priority, BASE[Priority.NORMAL])


def effective_priority(priority: str, waiting_since: dt.datetime, now: dt.datetime) -> float:
    """Return class and age together; a clock that went back earns nothing."""
    hours = max((now - waiting_since).total_seconds(), 0.0) / 3600
    return base_priority(priority) + min(hours * POINTS_AN_HOUR, float(MOST_POINTS))


def order_key(priority: str, waiting_since: dt.datetime, run_id: uuid.UUID, now: dt.datetime) -> OrderKey:
    """Return what the queue is sorted by: first come the highest, then the longest waiting."""
    return -effective_priority(priority, waiting_since, now), -base_priority(priority), waiting_since, run_id
