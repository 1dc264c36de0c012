"""Rows and calls of the measurement of claims: many jobs with a schedule each, some of them due at one instant.

Owns what needs Django to be set up; tests.benchmarks.control does that first.
"""

import datetime as dt
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.db import connection

from jobs import calendar
from jobs.claims import claim_due
from jobs.models import Job, Run, Schedule
from jobs.planning import planned
from jobs.tick import run_pass
from tests.jobs.builders import make_runner
from tests.repositories.builders import make_repository

_INSTANT = dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC)
_DUE = {"type": "daily", "time": "03:00", "time_zone": "Europe/Berlin"}
_LATER = {"type": "daily", "time": "13:00", "time_zone": "Europe/Berlin"}
_passes = count(1)


@dataclass(frozen=True, slots=True)
class Rows:
    """What was made: the instant at which `due` schedules are due, and a moment before it."""

    instant: dt.datetime
    before: dt.datetime
    due: int


def fill(*, schedules: int, due: int) -> Rows:
    """Make the rows, due ones spread evenly among the others, and let the database know its tables."""
    repository, runner = make_repository(), make_runner()
    for numbers in _chunks(schedules, 5000):
        jobs = [
            Job(
                id=uuid.uuid4(),
                name=f"job {number}",
                repository=repository,
                runner=runner,
                created_at=_INSTANT - dt.timedelta(days=9),
                updated_at=_INSTANT - dt.timedelta(days=9),
            )
            for number in numbers
        ]
        Job.objects.bulk_create(jobs)
        every = schedules // due
        Schedule.objects.bulk_create(
            _schedule(job, is_due=number % every == 0 and number // every < due)
            for number, job in zip(numbers, jobs, strict=True)
        )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE jobs, schedules, runs")
    return Rows(_INSTANT, _INSTANT - dt.timedelta(seconds=1), due)


def claim_seconds(now: dt.datetime) -> float:
    """Return how long a claim takes at a moment when nothing is due."""
    begun = time.monotonic()
    if claim_due(now=now).queued:
        raise RuntimeError("something was due")
    return time.monotonic() - begun


def idle_passes(number: int) -> None:
    """Do whole passes with nothing due, each at a later moment."""
    for _ in range(number):
        run_pass(now=_INSTANT - dt.timedelta(hours=9) + next(_passes) * dt.timedelta(seconds=10))


def refuse_losses(rows: Rows, claimed: list[int]) -> None:
    """Raise unless each due schedule has exactly one run, and none is due any more."""
    runs = Run.objects.filter(scheduled_for=rows.instant)
    found: dict[str, Any] = {
        "claimed": sum(claimed),
        "runs": runs.count(),
        "schedules": runs.values("schedule").distinct().count(),
    }
    left = Schedule.objects.filter(next_at__lte=rows.instant).count()
    if set(found.values()) != {rows.due} or left:
        raise RuntimeError(f"{rows.due} were due, but: {found}, {left} left")


def _schedule(job: Job, *, is_due: bool) -> Schedule:
    definition = _DUE if is_due else _LATER
    plan = calendar.parse(definition, anchor=job.created_at)
    return Schedule(
        id=uuid.uuid4(),
        job=job,
        kind=plan.kind,
        definition=definition,
        anchor=job.created_at,
        fingerprint=calendar.fingerprint(plan, anchor=job.created_at),
        **planned(plan, plan.next_after(_INSTANT - dt.timedelta(seconds=1))),
        created_at=job.created_at,
    )


def _chunks(total: int, size: int) -> Iterator[range]:
    for start in range(0, total, size):
        yield range(start, min(start + size, total))
