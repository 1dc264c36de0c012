"""A clock that stood far ahead and was set right: backups go on, each of it told (5.9)."""

import datetime as dt

import pytest

from jobs.models import Run, Schedule, ScheduleEvent
from jobs.services import job_pause, job_resume
from jobs.services.upkeep import upkeep_set
from jobs.states import RunKind
from jobs.tick import run_pass
from tests.jobs.builders import DAILY, NOW, make_schedule
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

SECOND, HOUR, DAY, YEAR = (dt.timedelta(seconds=s) for s in (1, 3600, 86400, 365 * 86400))


def end_runs() -> None:
    Run.objects.filter(state="queued").update(state="cancelled", finished_at=NOW, cancel_origin="user")


def test_three_years_ahead_and_back_lose_no_day() -> None:
    """Neither the schedule nor the run that waits for a slot waits for three years."""
    schedule = make_schedule()
    run_pass(now=NOW + 3 * YEAR)
    run = Run.objects.get()
    assert run.scheduled_for == NOW + 3 * YEAR
    run_pass(now=NOW + 10 * SECOND)
    schedule.refresh_from_db()
    run.refresh_from_db()
    assert (schedule.next_at, run.scheduled_for, run.not_before) == (NOW + DAY, NOW + 10 * SECOND, NOW + 10 * SECOND)
    event = ScheduleEvent.objects.get()
    assert (event.code, event.parameters["after"]) == ("clock_set_back", "2026-12-01T02:00:00Z")
    for day in (1, 2, 3):
        end_runs()
        run_pass(now=NOW + day * DAY)
        assert Run.objects.filter(scheduled_for=NOW + day * DAY).count() == 1
    assert ScheduleEvent.objects.count() == 1


def test_hours_ahead_and_back_plan_nothing_twice() -> None:
    """A14: the next instant stays later than the last planned one."""
    schedule = make_schedule(definition={"type": "interval", "every_seconds": 3600})
    run_pass(now=NOW + 6 * HOUR)
    run_pass(now=NOW + HOUR)
    schedule.refresh_from_db()
    assert (schedule.next_at, ScheduleEvent.objects.count()) == (NOW + 7 * HOUR, 0)


def test_a_schedule_that_nobody_can_read_stops_no_other() -> None:
    bad, good = make_schedule(last_planned_at=NOW + YEAR), make_schedule(last_planned_at=NOW + YEAR)
    Schedule.objects.filter(id=bad.id).update(definition={"type": "never"}, next_at=NOW + YEAR)
    Schedule.objects.filter(id=good.id).update(next_at=NOW + YEAR)
    run_pass(now=NOW)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.state, good.state, good.next_at) == ("flagged", "active", NOW + DAY)


def test_a_pause_and_a_resume_plan_from_now_whatever_the_clock_said() -> None:
    """E3."""
    schedule = make_schedule()
    run_pass(now=NOW + 3 * YEAR)
    job_pause(job_id=schedule.job_id, actor="alice", now=NOW)
    job_resume(job_id=schedule.job_id, actor="alice", now=NOW)
    assert Schedule.objects.get().next_at == NOW + DAY


def test_upkeep_is_not_put_off_for_years_either() -> None:
    vault = make_repository()
    plan = upkeep_set(
        RunKind.CHECK, repository_id=vault.id, definition=DAILY, parameters={}, actor="alice", now=NOW - HOUR
    )
    run_pass(now=NOW + 3 * YEAR)
    run_pass(now=NOW + 10 * SECOND)
    plan.refresh_from_db()
    assert (plan.next_at, Run.objects.get().not_before) == (NOW + DAY, NOW + 10 * SECOND)
