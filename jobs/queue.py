"""The order of the queue: classes that age (C1). Pure.

Owns the figures: waiting earns 50 points an hour, at most 100, so a run rises one class and never passes a critical
one that waits as long. The order stands here twice, for values and for rows; a test holds one against the other.
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

_CLASSES: Final = " ".join(f"WHEN '{priority}' THEN {points}" for priority, points in BASE.items())
_BASE_SQL: Final = f"CASE runs.priority {_CLASSES} ELSE {BASE[Priority.NORMAL]} END"
# Since when a run of the table `runs` waits.
SINCE_SQL: Final = "greatest(runs.created_at, runs.not_before)"
_HOURS_SQL: Final = f"greatest(extract(epoch FROM %(now)s - {SINCE_SQL})::float8, 0) / 3600"
# Who has waited long enough has all points, which is cheaper to know than the hours.
_AGE_SQL: Final = (
    f"CASE WHEN {SINCE_SQL} <= %(now)s - interval '{MOST_POINTS / POINTS_AN_HOUR} hours' THEN {MOST_POINTS}"
    f" ELSE {_HOURS_SQL} * {POINTS_AN_HOUR} END"
)
# What rows of `runs` are ordered by at the moment `now`, each rising; thousands wait, and the database sorts them in
# milliseconds.
ORDER_KEYS_SQL: Final = (
    f"-({_BASE_SQL} + {_AGE_SQL})",
    f"-({_BASE_SQL})",
    SINCE_SQL,
    "runs.id",
)
ORDER_SQL: Final = ", ".join(ORDER_KEYS_SQL)


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
