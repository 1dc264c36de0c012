"""Pause, resume, delete and changes of windows at the very second of an instant, before and after its claim (5.9).

Whatever comes first: the instant is a run, or a decision says what became of it; never neither, never both.
"""

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jobs.claims import claim_due
from jobs.models import Run, Schedule, ScheduleDecision
from jobs.sentences import decision_sentence
from jobs.services import job_delete, job_pause, job_resume
from tests.jobs.builders import NOW, make_schedule
from tests.jobs.rivals import at_once

DAY, SECOND = dt.timedelta(days=1), dt.timedelta(seconds=1)
Action = Callable[[Schedule, dt.datetime], Any]


def claim(schedule: Schedule, now: dt.datetime) -> Any:
    return claim_due(now=now)


def pause(schedule: Schedule, now: dt.datetime) -> Any:
    return job_pause(job_id=schedule.job_id, actor="alice", now=now)


def resume(schedule: Schedule, now: dt.datetime) -> Any:
    return job_resume(job_id=schedule.job_id, actor="alice", now=now)


def delete(schedule: Schedule, now: dt.datetime) -> Any:
    return job_delete(job_id=schedule.job_id, actor="alice", now=now)


def account(schedule: Schedule) -> tuple[list[dt.datetime], list[tuple[str, int]]]:
    """Return the planned instants that became runs, and what decisions say of the others."""
    runs = Run.objects.filter(schedule=schedule).values_list("scheduled_for", flat=True)
    decisions = ScheduleDecision.objects.filter(schedule=schedule).order_by("id")
    assert all(decision_sentence(one) for one in decisions)
    return list(runs), [(one.reason_code, one.count) for one in decisions]


@pytest.mark.django_db
@pytest.mark.parametrize("moment", [NOW, NOW + SECOND], ids=["at", "after"])
@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([claim, pause], ([NOW], [])),
        ([claim, delete], ([NOW], [])),
        ([claim, pause, resume], ([NOW], [])),
        ([pause, claim, resume, claim], ([], [("job_paused", 1)])),
        ([pause, resume, claim], ([], [("job_paused", 1)])),
        ([resume, claim], ([NOW], [])),
        ([delete, claim], ([], [("job_deleted", 1)])),
        ([pause, delete], ([], [("job_paused", 1)])),
    ],
    ids=lambda value: "-".join(each.__name__ for each in value) if isinstance(value, list) else "",
)
@pytest.mark.parametrize("definition", [None, {"type": "interval", "every_seconds": 86400}], ids=["daily", "interval"])
def test_each_order_of_actions(
    actions: list[Action],
    expected: tuple[list[dt.datetime], list[tuple[str, int]]],
    moment: dt.datetime,
    definition: Any,
) -> None:
    """H7: one account of the instant, and never a second run of it later."""
    schedule = make_schedule(definition=definition, anchor=NOW - 10 * DAY)
    for action in actions:
        action(schedule, moment)
    assert account(schedule) == expected
    claim_due(now=moment + DAY - 2 * SECOND)
    assert account(schedule) == expected


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", [pause, delete], ids=["pause", "delete"])
def test_claims_and_an_action_at_once(rival: Action) -> None:
    """Two claimers and an action behind one barrier: one account, whoever wins."""
    for number in range(3):
        schedule = make_schedule(next_at=NOW + number * SECOND)
        moment = NOW + number * SECOND
        claims = partial(claim, schedule, moment)
        done = at_once([claims, partial(rival, schedule, moment), claims])
        assert not [one for one in done if isinstance(one, Exception)]
        if rival is pause:
            resume(schedule, moment)
        runs, decisions = account(schedule)
        assert len(runs) + sum(count for _, count in decisions) == 1
