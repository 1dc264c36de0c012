"""Claiming on real rows: each instant once, missed ones decided, poison isolated (A1, A13, A14, H7)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection

from jobs.claims import Claimed, claim_due
from jobs.models import Job, Run, Schedule, ScheduleDecision, ScheduleEvent
from repositories.freezing import repository_freeze
from tests.jobs.builders import NOW, make_job, make_run, make_schedule

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def again(schedule: Schedule) -> Schedule:
    schedule.refresh_from_db()
    return schedule


def test_a_due_schedule_becomes_one_waiting_run() -> None:
    schedule = make_schedule()
    assert claim_due(now=NOW + dt.timedelta(seconds=9)) == Claimed(queued=1)
    run = Run.objects.get()
    assert (run.job_id, run.schedule_id, run.trigger, run.state) == (schedule.job_id, schedule.id, "schedule", "queued")
    assert (run.scheduled_for, run.not_before, run.admitted_at) == (NOW, NOW, None)
    # A14: from the planned instant, moved at the claim.
    assert (again(schedule).next_at, schedule.last_planned_at) == (NOW + DAY, NOW)
    assert not ScheduleDecision.objects.exists()
    assert claim_due(now=NOW + dt.timedelta(seconds=19)) == Claimed()


@pytest.mark.parametrize(
    "fields",
    [
        {"next_at": NOW + dt.timedelta(seconds=1)},
        {"next_at": None},
        {"state": "flagged", "state_code": "unplannable"},
        {"next_at": None, "deleted_at": NOW},
    ],
)
def test_what_is_not_due_is_left_alone(fields: dict[str, Any]) -> None:
    make_schedule(**fields)
    assert claim_due(now=NOW) == Claimed()


@pytest.mark.parametrize("field", ["paused_at", "deleted_at"])
def test_paused_and_deleted_jobs_are_not_claimed(field: str) -> None:
    schedule = make_schedule()
    Job.objects.filter(id=schedule.job_id).update(**{field: NOW})
    assert claim_due(now=NOW) == Claimed()
    assert again(schedule).next_at == NOW


def test_three_days_down_run_once_and_say_how_many_were_missed() -> None:
    """A13."""
    schedule = make_schedule()
    assert claim_due(now=NOW + 3 * DAY + dt.timedelta(hours=5)) == Claimed(queued=1)
    run = Run.objects.get()
    assert run.scheduled_for == NOW + 3 * DAY
    decision = ScheduleDecision.objects.get()
    assert (decision.outcome, decision.reason_code, decision.count) == ("skipped", "missed", 3)
    assert (decision.first_at, decision.last_at, decision.run_id) == (NOW, NOW + 2 * DAY, run.id)
    assert again(schedule).next_at == NOW + 4 * DAY


def test_three_years_of_minutes_down_are_one_decision() -> None:
    """A13: counted by arithmetic."""
    make_schedule(definition={"type": "interval", "every_seconds": 60}, anchor=NOW - DAY)
    claim_due(now=NOW + 1096 * DAY)
    assert (Run.objects.get().scheduled_for, ScheduleDecision.objects.get().count) == (NOW + 1096 * DAY, 1096 * 1440)


def test_a_job_that_still_runs_takes_the_instant_in() -> None:
    """D1, H7: the conflict is a decision, not an error."""
    schedule = make_schedule()
    active = make_run(schedule.job, "running")
    assert claim_due(now=NOW) == Claimed(coalesced=1)
    decision = ScheduleDecision.objects.get()
    assert (decision.outcome, decision.run_id, decision.count) == ("coalesced", active.id, 1)
    assert again(schedule).next_at == NOW + DAY


def test_an_instant_that_ran_already_never_runs_twice() -> None:
    """The unique instant holds whatever happened to `next_at`."""
    schedule = make_schedule()
    claim_due(now=NOW)
    Run.objects.filter(schedule=schedule).update(state="cancelled", finished_at=NOW, cancel_origin="user")
    Schedule.objects.filter(id=schedule.id).update(next_at=NOW)
    assert claim_due(now=NOW) == Claimed()
    assert Run.objects.count() == 1
    assert not ScheduleDecision.objects.exists()


def test_a_clock_that_went_back_plans_no_instant_again() -> None:
    """The next instant is later than the last planned one and than now."""
    schedule = make_schedule(next_at=NOW + 5 * DAY)
    claim_due(now=NOW + 5 * DAY)
    assert claim_due(now=NOW) == Claimed()
    assert again(schedule).next_at == NOW + 6 * DAY


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "daily", "time": "02:00", "time_zone": "Europe/Atlantis"},
        {"type": "daily", "time": 200},
        {"type": "cron", "expression": "0 0 30 2 *"},
        {"type": "cron", "expression": "61 * * * *"},
        {"type": "daily"},
        [],
    ],
)
def test_a_poisoned_row_is_flagged_and_stops_no_other(definition: Any) -> None:
    """5.6: and it is not tried again at every tick."""
    poisoned = make_schedule(next_at=NOW - DAY)
    Schedule.objects.filter(id=poisoned.id).update(definition=definition)
    healthy = make_schedule()
    assert claim_due(now=NOW) == Claimed(queued=1, flagged=1)
    assert Run.objects.get().schedule_id == healthy.id
    assert (again(poisoned).state, poisoned.state_code, poisoned.next_at) == ("flagged", "unplannable", NOW - DAY)
    assert ScheduleEvent.objects.get(schedule=poisoned).code == "flagged"
    assert claim_due(now=NOW) == Claimed()


def test_a_row_that_the_database_refuses_spoils_no_batch() -> None:
    """One bad row in a statement for many: all others are claimed, it alone is flagged."""
    schedules = [make_schedule() for _ in range(5)]
    with connection.cursor() as cursor:
        cursor.execute(REFUSE_ONE.format(schedules[2].id))
    assert claim_due(now=NOW) == Claimed(queued=4, flagged=1)
    assert again(schedules[2]).state == "flagged"
    assert not Run.objects.filter(schedule=schedules[2]).exists()
    assert claim_due(now=NOW) == Claimed()


REFUSE_ONE = """
CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'check_violation'; END $$;
CREATE TRIGGER refuse_one BEFORE UPDATE OF next_at ON schedules
    FOR EACH ROW WHEN (OLD.id = '{}' AND NEW.next_at IS DISTINCT FROM OLD.next_at) EXECUTE FUNCTION refuse_one();
"""


def test_freezing_does_not_stop_claiming() -> None:
    """execution.md, section 2: the run waits with the reason."""
    schedule = make_schedule()
    repository_freeze(repository_id=schedule.job.repository_id, reason="swapped", now=NOW)
    assert claim_due(now=NOW) == Claimed(queued=1)


def test_two_schedules_of_a_job_at_one_instant_are_one_run() -> None:
    job = make_job()
    make_schedule(job)
    make_schedule(job, {"type": "interval", "every_seconds": 3600}, anchor=NOW - DAY)
    assert claim_due(now=NOW) == Claimed(queued=1, coalesced=1)
