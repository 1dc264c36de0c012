"""Rename, change, pause, resume and delete at the very second of an instant, before and after its claim (5.9).

Whatever comes first: the instant is a run, or a decision says what became of it; never neither, never both.
"""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from jobs.claims import Claimed, claim_due
from jobs.errors import JobNotFoundError
from jobs.models import Job, Run, Schedule, ScheduleDecision
from jobs.sentences import decision_sentence
from jobs.services import job_change, job_delete, job_pause, job_resume
from syncova_project.preconditions import ANY_STATE, Condition, PreconditionFailedError
from tests.jobs.builders import DAILY, NOW, make_job, make_run, make_schedule
from tests.jobs.rivals import at_once, blocked_by_this

DAY, SECOND = dt.timedelta(days=1), dt.timedelta(seconds=1)
HOUR = dt.timedelta(hours=1)
Action = Callable[[Schedule, dt.datetime], Any]
Account = tuple[list[dt.datetime], list[tuple[str, int]]]
EACH_DAY = {"type": "interval", "every_seconds": 86400}
RUN: Account = ([NOW], [])
NOTHING: Account = ([], [])


def claim(schedule: Schedule, now: dt.datetime) -> Any:
    return claim_due(now=now)


def pause(schedule: Schedule, now: dt.datetime) -> Any:
    return job_pause(job_id=schedule.job_id, actor="alice", now=now)


def resume(schedule: Schedule, now: dt.datetime) -> Any:
    return job_resume(job_id=schedule.job_id, actor="alice", now=now)


def delete(schedule: Schedule, now: dt.datetime) -> Any:
    return job_delete(job_id=schedule.job_id, actor="alice", now=now)


def change(planned: Schedule, now: dt.datetime, **fields: Any) -> Any:
    return job_change(job_id=planned.job_id, fields=fields, condition=ANY_STATE, actor="alice", now=now)


def rename(schedule: Schedule, now: dt.datetime) -> Any:
    return change(schedule, now, name=f"renamed {schedule.id}", priority="high")


def reschedule(schedule: Schedule, now: dt.datetime) -> Any:
    """To half past: of whatever kind it was, its instants are others now."""
    return change(schedule, now, schedule={"type": "daily", "time": "02:30", "time_zone": "UTC"})


def repeat(schedule: Schedule, now: dt.datetime) -> Any:
    """Send the schedules that it has, beside a new one that has the same instant."""
    known = dict(schedule.definition)
    return change(schedule, now, schedules=[known, {"type": "cron", "expression": "0 2 * * *"}])


def replace(schedule: Schedule, now: dt.datetime) -> Any:
    """End the schedule, and plan the same instant by another."""
    return change(schedule, now, schedules=[{"type": "cron", "expression": "0 2 * * *"}])


def account(schedule: Schedule) -> Account:
    """Return the planned instants of the job that became runs, and what decisions say of the others."""
    runs = Run.objects.filter(schedule__job=schedule.job_id).values_list("scheduled_for", flat=True)
    decisions = ScheduleDecision.objects.filter(schedule__job=schedule.job_id).order_by("id")
    assert all(decision_sentence(one) for one in decisions)
    return list(runs), [(one.reason_code, one.count) for one in decisions]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([claim, pause], RUN),
        ([claim, delete], RUN),
        ([claim, rename], RUN),
        ([claim, reschedule], RUN),
        ([claim, repeat], RUN),
        ([claim, replace], RUN),
        ([claim, pause, resume], RUN),
        ([rename, claim], RUN),
        ([rename, pause, resume, claim], RUN),
        ([reschedule, claim], RUN),
        ([reschedule, reschedule, claim], RUN),
        ([repeat, claim], RUN),
        ([replace, claim], RUN),
        ([reschedule, delete], RUN),
        ([pause, reschedule, resume, claim], RUN),
        ([pause, replace, resume, claim], RUN),
        ([pause, claim, resume, claim], RUN),
        ([pause, resume, claim], RUN),
        ([resume, claim], RUN),
        ([delete, claim], ([], [("job_deleted", 1)])),
        ([pause, delete], RUN),
        ([rename, delete], ([], [("job_deleted", 1)])),
    ],
    ids=lambda value: "-".join(each.__name__ for each in value) if isinstance(value, list) else "",
)
def test_each_order_of_actions(actions: list[Action], expected: Account) -> None:
    """H7: at the second and after it, one account of the instant, and never a second run of it later."""
    for moment, definition in ((NOW, DAILY), (NOW + SECOND, DAILY), (NOW, EACH_DAY)):
        schedule = make_schedule(definition=definition, anchor=NOW - 10 * DAY)
        for action in actions:
            action(schedule, moment)
        assert account(schedule) == expected
        claim_due(now=moment + 1700 * SECOND)
        assert account(schedule) == expected


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("action", "expected", "following"),
    [
        (rename, RUN, NOW + DAY),
        (repeat, ([NOW], [("job_active", 1)]), NOW + DAY),
        (replace, RUN, NOW + DAY),
        # What is not due yet is planned no more: nothing was promised that did not come.
        (reschedule, NOTHING, NOW + HOUR / 2),
        (delete, NOTHING, None),
    ],
)
def test_an_action_a_second_before_the_instant(action: Action, expected: Account, following: Any) -> None:
    schedule = make_schedule()
    action(schedule, NOW - SECOND)
    claim_due(now=NOW)
    assert account(schedule) == expected
    kept = Schedule.objects.filter(job=schedule.job, deleted_at__isnull=True)
    assert set(kept.values_list("next_at", flat=True)) == ({following} if following else set())


@pytest.mark.django_db
def test_a_pause_a_second_before_and_a_resume_a_second_after_the_instant() -> None:
    schedule = make_schedule()
    pause(schedule, NOW - SECOND)
    claim_due(now=NOW)
    resume(schedule, NOW + SECOND)
    claim_due(now=NOW + SECOND)
    assert account(schedule) == ([], [("job_paused", 1)])


@pytest.mark.django_db
def test_a_pause_gives_each_instant_before_it_its_account_at_once() -> None:
    """5.9: a run that the pause cancels, and decisions for those that the policy left out; the resume adds none."""
    minutely = {"type": "interval", "every_seconds": 60}
    schedule = make_schedule(definition=minutely, anchor=NOW - DAY)
    never = make_schedule(schedule.job, minutely, anchor=NOW - DAY + 50 * SECOND, missed="never")
    Schedule.objects.filter(id=never.id).update(next_at=NOW - 10 * SECOND)
    pause(schedule, NOW + 125 * SECOND)
    run = Run.objects.get()
    assert (run.state, run.cancel_origin, run.cancelled_by) == ("cancelled", "job_paused", "alice")
    told = account(schedule)
    assert told == ([NOW + 110 * SECOND], [("job_active", 3), ("missed_never", 2)])
    pause(schedule, NOW + 300 * SECOND)
    assert account(schedule) == told
    resume(schedule, NOW + 130 * SECOND)
    assert account(schedule) == told


@pytest.mark.django_db
def test_a_pause_leaves_what_runs_to_take_in_what_is_due() -> None:
    """execution.md, section 4: what runs goes on, and an instant that is due merges into it as ever."""
    schedule = make_schedule()
    running = make_run(schedule.job, "running")
    pause(schedule, NOW + SECOND)
    running.refresh_from_db()
    decision = ScheduleDecision.objects.get()
    assert (running.state, decision.reason_code, decision.run_id) == ("running", "job_active", running.id)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("rival", [pause, delete, rename, reschedule, repeat, replace])
def test_claims_and_an_action_at_once(rival: Action) -> None:
    """Two claimers and an action behind one barrier: one account, whoever wins."""
    for number in range(3):
        moment = NOW + number * DAY
        schedule = make_schedule(next_at=moment)
        claims = partial(claim, schedule, moment)
        done = at_once([claims, partial(rival, schedule, moment), claims])
        assert not [one for one in done if isinstance(one, Exception)]
        if rival is pause:
            resume(schedule, moment)
        claim(schedule, moment)
        runs, decisions = account(schedule)
        assert len(runs) + sum(count for _, count in decisions) == 1


@pytest.mark.django_db(transaction=True)
def test_all_actions_and_claims_at_once_leave_one_account() -> None:
    """And no error but that of whoever comes after the deletion."""
    for number in range(4):
        moment = NOW + number * DAY
        schedule = make_schedule(next_at=moment)
        actions = [claim, pause, resume, rename, reschedule, replace, delete, claim]
        done = at_once([partial(action, schedule, moment) for action in actions])
        assert not [one for one in done if isinstance(one, Exception) and not isinstance(one, JobNotFoundError)]
        runs, decisions = account(schedule)
        assert len(runs) + sum(count for _, count in decisions) == 1
        assert not Run.objects.filter(job=schedule.job_id, state="queued").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("action", [pause, delete, rename, reschedule, replace])
def test_an_action_that_waited_for_a_claim_finds_the_run(action: Action) -> None:
    """Its time was read before it had the lock: what the claim has planned since is not planned again."""
    schedule = make_schedule()
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        claim(schedule, NOW + SECOND)
        waiting = blocked_by_this(pool, partial(action, schedule, NOW - SECOND))
        transaction.on_commit(lambda: waiting.result(30))
    assert account(schedule) == RUN
    claim_due(now=NOW + SECOND)
    assert account(schedule) == RUN


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("action", [rename, reschedule, replace])
def test_a_claim_leaves_a_job_that_is_being_changed_to_the_next_pass(action: Action) -> None:
    """D1: and stops for no other job meanwhile."""
    schedule, other = make_schedule(), make_schedule()
    with transaction.atomic():
        action(schedule, NOW)
        assert at_once([partial(claim, schedule, NOW)]) == [Claimed(queued=1)]
    claim(schedule, NOW)
    assert account(schedule) == account(other) == RUN


@pytest.mark.django_db(transaction=True)
def test_of_changes_of_one_state_the_first_is_made() -> None:
    """7.15: PATCH/PATCH; the others are told, and their fields are not half there."""
    for _ in range(3):
        job = make_job(schedule=DAILY)
        changes = [
            partial(
                job_change,
                job_id=job.id,
                fields={"max_attempts": number, "start_deadline_seconds": number},
                condition=Condition(frozenset({"1"})),
                actor="alice",
                now=NOW,
            )
            for number in (5, 6, 7, 8)
        ]
        done = at_once(changes)
        assert [type(one) for one in done].count(PreconditionFailedError) == 3
        kept = Job.objects.get(id=job.id)
        assert (kept.revision_number, kept.max_attempts) == (2, kept.start_deadline_seconds)
