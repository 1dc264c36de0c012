"""The order of the queue (C1)."""

import datetime as dt
import random
import uuid

import pytest
from django.db import connection

from jobs.queue import ORDER_SQL, OrderKey, effective_priority, order_key

NOW = dt.datetime(2026, 11, 30, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("priority", "hours", "points"),
    [
        ("low", 0, 0),
        ("normal", 0, 100),
        ("high", 0, 200),
        ("critical", 0, 300),
        ("normal", 1, 150),
        ("normal", 2, 200),
        ("normal", 1000, 200),
        ("low", 2, 100),
        ("unheard of", 0, 100),
        ("high", -5, 200),
    ],
)
def test_class_and_age_together(priority: str, hours: int, points: float) -> None:
    """C1: 50 points an hour, at most one class; an unknown class is normal; a clock that went back earns nothing."""
    assert effective_priority(priority, NOW - dt.timedelta(hours=hours), NOW) == points


def test_nothing_that_waited_passes_a_critical_run() -> None:
    """C1: an old high run reaches 300 and still comes after a fresh critical one."""
    old_high = order_key("high", NOW - dt.timedelta(days=9), uuid.UUID(int=1), NOW)
    critical = order_key("critical", NOW, uuid.UUID(int=2), NOW)
    assert sorted([old_high, critical]) == [critical, old_high]


def test_equals_are_served_as_they_came_and_ties_by_id() -> None:
    early = order_key("normal", NOW - dt.timedelta(hours=5), uuid.UUID(int=9), NOW)
    late = order_key("normal", NOW - dt.timedelta(hours=4), uuid.UUID(int=1), NOW)
    twin = order_key("normal", NOW - dt.timedelta(hours=4), uuid.UUID(int=2), NOW)
    assert sorted([twin, late, early]) == [early, late, twin]


@pytest.mark.django_db
def test_rows_are_ordered_as_values_are() -> None:
    """C1: one order, told to Python and to the database, also of what waits as long or is to come."""
    chance = random.Random(1)
    hours = [dt.timedelta(hours=number) for number in (-1, 0, 1, 2, 3, 9000)]
    keys: dict[uuid.UUID, OrderKey] = {}
    rows: list[tuple[str, dt.datetime, dt.datetime, uuid.UUID]] = []
    for priority in ("low", "normal", "high", "critical", "unheard of"):
        for _ in range(80):
            since = NOW - chance.choice(hours) - dt.timedelta(microseconds=chance.choice((0, 1, 7, 999_999)))
            run_id = uuid.UUID(int=chance.getrandbits(128))
            keys[run_id] = order_key(priority, since, run_id, NOW)
            rows.append((priority, since, since - chance.choice(hours[1:4]), run_id))
    columns = dict(zip(("priority", "since", "earlier", "id"), map(list, zip(*rows, strict=True)), strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT runs.id FROM unnest(%(priority)s::text[], %(since)s::timestamptz[], %(earlier)s::timestamptz[],"
            f" %(id)s::uuid[]) AS runs (priority, created_at, not_before, id) ORDER BY {ORDER_SQL}",
            columns | {"now": NOW},
        )
        assert [row[0] for row in cursor.fetchall()] == sorted(keys, key=keys.__getitem__)
