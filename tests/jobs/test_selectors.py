"""What lists show of jobs and runs, and the sentences made when they are read (B6, C3, E4, A11)."""

import datetime as dt
from typing import Any

import pytest

from jobs import selectors, sentences
from jobs.errors import JobNotFoundError, RunNotFoundError
from jobs.listing import job_listed
from jobs.models import Job, Run, Schedule, ScheduleDecision
from jobs.states import HeldCode
from repositories.engine.manifest.problems import SEVERITIES, Severity
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, new_id

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


def test_the_next_run_is_the_least_of_the_schedules() -> None:
    job = make_job()
    make_schedule(job, next_at=NOW + 2 * HOUR)
    make_schedule(job, next_at=NOW + HOUR)
    make_schedule(job, next_at=NOW, state="flagged", state_code="x")
    make_schedule(job, next_at=None, deleted_at=NOW)
    assert job_listed(job.id).next_run_at == NOW + HOUR  # type: ignore[attr-defined]
    assert len(job_listed(job.id).listed_schedules) == 3  # type: ignore[attr-defined]
    Job.objects.filter(id=job.id).update(paused_at=NOW)
    assert job_listed(job.id).next_run_at is None  # type: ignore[attr-defined]


def test_a_job_by_hand_has_no_next_run() -> None:
    assert job_listed(make_job().id).next_run_at is None  # type: ignore[attr-defined]


def test_deleted_jobs_are_gone_and_their_runs_are_not() -> None:
    """D3."""
    job = make_job(deleted_at=NOW)
    run = make_run(job, "succeeded")
    assert not selectors.jobs_visible().exists()
    with pytest.raises(JobNotFoundError):
        job_listed(job.id)
    assert selectors.run_get(run.id) == run
    with pytest.raises(RunNotFoundError):
        selectors.run_get(new_id())


def test_phase_delay_and_postponed_share() -> None:
    """E4."""
    run = make_run(state="running", not_before=NOW + HOUR, started_at=NOW + HOUR + dt.timedelta(seconds=5))
    assert (selectors.phase(run), selectors.delay_seconds(run), selectors.postponed_seconds(run)) == (
        "running",
        3605,
        3600,
    )
    waiting, admitted = make_run(), make_run(admitted=True)
    assert (selectors.phase(waiting), selectors.phase(admitted)) == ("waiting", "admitted")
    assert selectors.delay_seconds(waiting) is None
    assert job_listed(waiting.job_id).listed_runs == [waiting]  # type: ignore[arg-type,attr-defined]


@pytest.mark.parametrize(("trigger", "expected"), [("schedule", 3600), ("requeue", 3589), ("retry", 0)])
def test_only_windows_postpone(trigger: str, expected: int) -> None:
    """A run that follows another was not put off before it was queued, nor by its back-off."""
    queued = NOW + dt.timedelta(seconds=11)
    run = Run(trigger=trigger, scheduled_for=NOW, created_at=queued, not_before=NOW + HOUR)
    assert selectors.postponed_seconds(run) == expected
    run.not_before = NOW if trigger == "schedule" else queued
    assert selectors.postponed_seconds(run) == 0


def test_schedules_are_told_in_words() -> None:
    """B6."""
    schedule = make_schedule()
    assert selectors.schedule_sentence(schedule) == "daily at 02:00 (UTC)"
    Schedule.objects.filter(id=schedule.id).update(definition={"type": "daily", "time_zone": "Nowhere"})
    schedule.refresh_from_db()
    assert selectors.schedule_sentence(schedule).startswith("cannot be planned: time")


@pytest.mark.parametrize("code", HeldCode.values)
def test_every_held_reason_has_a_sentence(code: str) -> None:
    """C3."""
    sentence = sentences.held_sentence(make_run(held_code=code, held_subject="100% <b>", held_since=NOW))
    assert sentence.startswith("Wa")
    assert sentence.endswith((".", ": "))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"state": "succeeded"}, "Completed."),
        (
            {
                "state": "partial_failure",
                "skipped": 17,
                "reason_code": "objects_skipped",
                "reason_parameters": {"skipped": 17, "reasons": {"permission": 17}},
            },
            "17 objects skipped: no read permission.",
        ),
        (
            {
                "state": "partial_failure",
                "skipped": 1,
                "reason_code": "objects_skipped",
                "reason_parameters": {"skipped": 1, "reasons": {"SOURCE_MISSING": 1}},
            },
            "1 object skipped: source missing.",
        ),
        (
            {
                "state": "partial_failure",
                "skipped": 250,
                "reason_code": "objects_skipped",
                "reason_parameters": {"skipped": 250, "reasons": {"permission": 90, "NEW_KIND": 10}},
            },
            "250 objects skipped: no read permission (90), new kind (10), others.",
        ),
        ({"state": "failed", "error_message": "No room is left."}, "No room is left."),
        ({"state": "cancelled", "cancelled_by": "alice"}, "Cancelled by alice."),
        (
            {"state": "cancelled", "cancel_origin": "shutdown"},
            "Cancelled because its worker was shut down; it is queued again.",
        ),
        (
            {"state": "cancelled", "cancel_origin": "shutdown", "reason_parameters": {"requeued": False}},
            "Cancelled because its worker was shut down; it is not queued again.",
        ),
        ({"state": "running"}, ""),
    ],
)
def test_why_a_run_ended(fields: dict[str, Any], sentence: str) -> None:
    """A11: "17 objects skipped: no read permission"."""
    assert sentences.reason_sentence(make_run(**fields)) == sentence


@pytest.mark.parametrize("reason", ["SOURCE_EMPTY", "SOURCE_UNMOUNTED", "unmounted", "leftovers"])
def test_what_may_be_meant_comes_with_the_next_step(reason: str) -> None:
    """2.6: the command that confirms it, as a shell takes it."""
    job = make_job(name="my job")
    told = {"reason_code": "objects_skipped", "reason_parameters": {"skipped": 1, "reasons": {reason: 1}}}
    sentence = sentences.reason_sentence(make_run(job, "partial_failure", skipped=1, **told))
    assert sentence.startswith("1 object skipped: ")
    assert sentence.endswith("confirm once that it is meant: ./syncova ctl job run 'my job' --accept-new-root")


def test_every_kind_that_skips_has_words() -> None:
    """A11: "because of" is told in words, not in codes."""
    skipping = {str(kind) for kind, severity in SEVERITIES.items() if severity is not Severity.NOTE}
    assert skipping - set(sentences.REASONS) == set()


def test_decisions_are_told_in_words() -> None:
    """H7."""
    decision = ScheduleDecision(outcome="skipped", reason_code="missed", count=3, first_at=NOW, last_at=NOW + 2 * HOUR)
    assert sentences.decision_sentence(decision).startswith("3 planned runs skipped:")
    decision.count, decision.count_is_minimum = 10_001, True
    assert sentences.decision_sentence(decision).startswith("at least 10001 planned runs skipped")
