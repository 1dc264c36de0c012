"""The circuit breaker of a repository: three failures in a row that are its own hold its runs back for a while.

Owns the rule (execution.md, section 2) and the writing of its row. After the pause the first in order tries it; only
its end opens the breaker again, for twice as long, or closes it. Restores never count nor wait.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobs.gates import Gate, is_held_by
from jobs.models import RepositoryBreaker, Run
from jobs.models.breaker import OPENS_AFTER
from jobs.states import FailureClass, RunKind, RunState, Trigger
from jobs.verdict import Verdict

FIRST_PAUSE: Final = dt.timedelta(minutes=5)
LONGEST_PAUSE: Final = dt.timedelta(hours=1)
# What speaks against the repository; a source that is missing says nothing about it, neither good nor bad.
COUNTED: Final = frozenset({FailureClass.REPOSITORY, FailureClass.NETWORK})

OPENED: Final = "breaker_opened"
CLOSED: Final = "breaker_closed"


@dataclass(frozen=True, slots=True)
class Breaker:
    """Failures in a row, how often it opened since the repository last worked, and until when it is open."""

    failures: int = 0
    trips: int = 0
    open_until: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What an end changed: the code of the event and what it tells."""

    code: str
    told: Mapping[str, object]


def works(verdict: Verdict) -> bool | None:
    """Return whether an end shows that the repository works, None when it says nothing about it."""
    if verdict.reason_code == "repository_swapped":
        return None
    if verdict.state in (RunState.SUCCEEDED, RunState.PARTIAL_FAILURE):
        return True
    failure = verdict.failure if verdict.state is RunState.FAILED else None
    return False if failure is not None and failure.failure_class in COUNTED else None


def after_failure(breaker: Breaker, *, admitted_at: dt.datetime, now: dt.datetime) -> Breaker:
    """Return the breaker after one more failure.

    A run that was admitted before the pause was over tells of the same outage again, and lengthens nothing.
    """
    if breaker.open_until is not None and admitted_at < breaker.open_until:
        return breaker
    failures = breaker.failures + 1
    if failures < OPENS_AFTER:
        return Breaker(failures)
    # The exponent is bounded: a hundred failures must give the longest pause, not an overflow.
    pause = min(FIRST_PAUSE * 2 ** min(breaker.trips, 10), LONGEST_PAUSE)
    return Breaker(failures, breaker.trips + 1, now + pause)


def note_end(run: Run, verdict: Verdict, *, now: dt.datetime) -> Change | None:
    """Write what the end of `run` means for its repository's breaker; return what changed for others, if anything.

    Called in the closing transaction; the breaker's row is locked after the run's, and nothing after it.
    """
    if run.admitted_at is None or not is_held_by(Gate.BREAKER, RunKind(run.kind), Trigger(run.trigger)):
        return None
    verdict_on_it = works(verdict)
    if verdict_on_it is None:
        return None
    if verdict_on_it:
        return _set_back(run.repository_id, now)
    code = verdict.failure.code if verdict.failure else ""
    return _count(run.repository_id, run.admitted_at, code, now)


def _set_back(repository_id: uuid.UUID, now: dt.datetime) -> Change | None:
    mine = RepositoryBreaker.objects.filter(repository_id=repository_id)
    failing = mine.filter(failures__gt=0).select_for_update().first()
    if failing is None:
        return None
    mine.update(failures=0, trips=0, open_until=None, error_code="", updated_at=now)
    return Change(CLOSED, {"failures": failing.failures}) if failing.trips else None


def _count(repository_id: uuid.UUID, admitted_at: dt.datetime, code: str, now: dt.datetime) -> Change | None:
    # Two first failures at once: the second waits here for the first, and counts on from it.
    RepositoryBreaker.objects.bulk_create(
        [RepositoryBreaker(repository_id=repository_id, updated_at=now)], ignore_conflicts=True
    )
    mine = RepositoryBreaker.objects.filter(repository_id=repository_id)
    row = mine.select_for_update().get()
    before = Breaker(row.failures, row.trips, row.open_until)
    after = after_failure(before, admitted_at=admitted_at, now=now)
    if after == before:
        return None
    mine.update(
        failures=after.failures, trips=after.trips, open_until=after.open_until, error_code=code, updated_at=now
    )
    if after.open_until is None:
        return None
    return Change(OPENED, {"failures": after.failures, "until": after.open_until.isoformat(), "error": code})
