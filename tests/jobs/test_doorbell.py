"""Bells ring after commit only, and a broken broker breaks nothing (execution.md, section 2)."""

import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, transaction

from jobs.doorbell import Ring, request_pass, ring_after_commit
from jobs.pass_guard import begin_pass, pass_wanted
from tests.jobs import bells
from tests.jobs.builders import NOW

RINGS = [Ring(uuid.UUID(int=n), n, "default") for n in range(1, 4)]


def wishes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM pass_requests")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db
def test_rings_come_in_order_after_the_commit(django_capture_on_commit_callbacks: Any) -> None:
    heard: list[Sequence[Ring]] = []
    with django_capture_on_commit_callbacks(execute=True):
        ring_after_commit(RINGS, heard.append)
        assert bells.rung == []
    assert [fence for _, fence, _ in bells.rung] == [1, 2, 3]
    assert heard == [tuple(RINGS)] or heard == [RINGS]


@pytest.mark.django_db
def test_nothing_rings_for_what_was_rolled_back(django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        ring_after_commit(RINGS, lambda rung: None)
        request_pass()
        transaction.set_rollback(True)
    assert (bells.rung, bells.woken) == ([], [])


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["tests.jobs.bells.broken", "tests.jobs.bells.deaf", "no.such.module", ""])
def test_a_bell_that_fails_raises_nothing(path: str, settings: Any, django_capture_on_commit_callbacks: Any) -> None:
    """A stopped broker hangs or breaks no request: the wish is counted, the next pass sees it."""
    settings.SYNCOVA_DOORBELL = settings.SYNCOVA_WAKE = path
    begin_pass(NOW)
    before = wishes()
    heard: list[Sequence[Ring]] = []
    with django_capture_on_commit_callbacks(execute=True):
        ring_after_commit(RINGS, heard.append)
        request_pass()
    assert heard == []
    assert wishes() == before + 1
    assert pass_wanted()
    assert begin_pass(NOW) is not None
    assert not pass_wanted()
