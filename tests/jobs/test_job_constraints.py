"""PostgreSQL refuses bad rows of jobs, sources, runners, schedules, revisions, windows and dependencies (D2)."""

import datetime as dt
from typing import Any

import pytest

from jobs.models import (
    DatabaseHome,
    Job,
    JobDependency,
    JobRevision,
    JobSource,
    ScheduleDecision,
    ScheduleEvent,
    SchedulerState,
    Window,
)
from tests.jobs.builders import (
    NOW,
    make_job,
    make_run,
    make_runner,
    make_schedule,
    make_source,
    make_worker,
    new_id,
)
from tests.refusals import refused_by
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

EARLIER = NOW - dt.timedelta(days=20)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("jobs_name_has_1_to_200_chars", {"name": ""}),
        ("jobs_name_has_1_to_200_chars", {"name": "\t"}),
        ("jobs_name_has_1_to_200_chars", {"name": "n" * 201}),
        ("jobs_priority_is_known", {"priority": "urgent"}),
        ("jobs_bandwidth_is_positive", {"bandwidth_limit_bps": 0}),
        ("jobs_bandwidth_is_positive", {"bandwidth_limit_bps": -1}),
        ("jobs_attempts_are_1_to_10", {"max_attempts": 0}),
        ("jobs_attempts_are_1_to_10", {"max_attempts": 11}),
        ("jobs_rpo_is_positive", {"rpo_seconds": 0}),
        ("jobs_start_deadline_is_positive", {"start_deadline_seconds": 0}),
        ("jobs_max_runtime_is_positive", {"max_runtime_seconds": 0}),
        ("jobs_revision_is_positive", {"revision_number": 0}),
        ("jobs_deleted_after_creation", {"deleted_at": EARLIER}),
        ("jobs_last_state_is_an_end", {"last_state": "running", "last_finished_at": NOW, "last_run_id": new_id()}),
        ("jobs_last_state_is_an_end", {"last_state": "succeeded"}),
        ("jobs_last_state_is_an_end", {"last_finished_at": NOW}),
    ],
)
def test_a_bad_job_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    """D2."""
    job = make_job()
    with refused_by(constraint):
        Job.objects.filter(id=job.id).update(**fields)


def test_a_name_is_unique_by_more_than_case_while_the_job_is_kept() -> None:
    """D3: a deleted job keeps its name and leaves it to others."""
    first = make_job(name="Nightly")
    with refused_by("jobs_name_is_unique_while_kept"):
        make_job(name="NIGHTLY")
    Job.objects.filter(id=first.id).update(deleted_at=NOW)
    assert make_job(name="nightly").name == "nightly"


def test_revisions_are_numbered_once_and_never_change() -> None:
    """H1."""
    job = make_job()
    values: dict[str, Any] = {"job": job, "snapshot": {}, "created_at": NOW, "created_by": "alice"}
    with refused_by("job_revisions_number_once_per_job"):
        JobRevision.objects.create(number=1, **values)
    with refused_by("job_revisions_number_is_positive"):
        JobRevision.objects.create(number=0, **values)
    with refused_by("job_revisions_actor_is_not_blank"):
        JobRevision.objects.create(number=2, **(values | {"created_by": ""}))
    with refused_by("job_revisions_is_append_only"):
        JobRevision.objects.filter(job=job).update(snapshot={"name": "other"})
    with refused_by("job_revisions_is_append_only"):
        JobRevision.objects.filter(job=job).delete()


def test_no_job_waits_for_itself() -> None:
    """C4, D2."""
    job = make_job()
    with refused_by("job_dependencies_never_on_itself"):
        JobDependency.objects.create(job=job, predecessor=job, created_at=NOW)


def test_a_dependency_is_named_once() -> None:
    job, predecessor = make_job(), make_job()
    JobDependency.objects.create(job=job, predecessor=predecessor, created_at=NOW)
    with refused_by("job_dependencies_pair_once"):
        JobDependency.objects.create(job=job, predecessor=predecessor, created_at=NOW)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("runners_kind_is_known", {"kind": "cloud"}),
        ("runners_name_is_a_word", {"name": "two words"}),
        ("runners_name_is_a_word", {"name": "-x"}),
        ("runners_name_is_a_word", {"name": "n" * 101}),
    ],
)
def test_a_bad_runner_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_runner(**({"name": "alpha"} | fields))


def test_a_runner_is_named_once_per_kind() -> None:
    make_runner("alpha")
    make_runner("alpha", kind="agent")
    with refused_by("runners_name_is_unique_per_kind"):
        make_runner("ALPHA")


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("worker_processes_slots_are_positive", {"slots": 0}),
        ("worker_processes_host_is_not_blank", {"host": ""}),
        ("worker_processes_seen_after_start", {"last_seen": NOW - dt.timedelta(days=1)}),
    ],
)
def test_a_bad_worker_process_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_worker(**fields)


def test_a_worker_process_has_one_row() -> None:
    make_worker(host="beta", process_id=7)
    with refused_by("worker_processes_once_per_process"):
        make_worker(host="beta", process_id=7)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("sources_type_is_known", {"type": "telepathy"}),
        ("sources_id_has_1_to_2000_bytes", {"normalised_id": b""}),
        ("sources_id_has_1_to_2000_bytes", {"normalised_id": b"/" + b"x" * 2000}),
        ("sources_run_limit_is_positive", {"max_concurrent_runs": 0}),
    ],
)
def test_a_bad_source_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_source(**fields)


def test_a_source_is_one_row_on_its_runner() -> None:
    """C2: so that its limit holds across jobs."""
    make_source(b"/home")
    make_source(b"/home", runner=make_runner("beta"))
    with refused_by("sources_once_per_runner"):
        make_source(b"/home")


def test_a_source_and_a_place_come_once_in_a_job() -> None:
    source = make_source()
    job = make_job(sources=[source])
    with refused_by("job_sources_source_once_per_job"):
        JobSource.objects.create(job=job, source=source, position=1)
    with refused_by("job_sources_position_once_per_job"):
        JobSource.objects.create(job=job, source=make_source(), position=0)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("schedules_kind_is_known", {"kind": "yearly"}),
        ("schedules_state_is_known", {"state": "sleeping"}),
        ("schedules_missed_is_known", {"missed": "always"}),
        ("schedules_missed_within_has_a_time", {"missed": "once_within"}),
        ("schedules_missed_within_has_a_time", {"missed": "once_within", "missed_within_seconds": 0}),
        ("schedules_missed_within_has_a_time", {"missed": "once", "missed_within_seconds": 60}),
        ("schedules_manual_is_never_due", {"kind": "manual"}),
        ("schedules_flagged_has_a_reason", {"state": "flagged"}),
        ("schedules_flagged_has_a_reason", {"state_code": "x"}),
        ("schedules_deleted_is_never_due", {"deleted_at": NOW}),
    ],
)
def test_a_bad_schedule_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    job = make_job()
    with refused_by(constraint):
        make_schedule(job, **fields)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("schedule_decisions_count_is_positive", {"count": 0}),
        ("schedule_decisions_range_is_ordered", {"last_at": NOW - dt.timedelta(days=1)}),
        ("schedule_decisions_range_is_ordered", {"count": 2}),
        ("schedule_decisions_outcome_is_known", {"outcome": "forgotten"}),
        ("schedule_decisions_has_a_reason", {"reason_code": ""}),
        ("schedule_decisions_ran_names_its_run", {"outcome": "ran"}),
    ],
)
def test_a_bad_decision_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    """H7."""
    values: dict[str, Any] = {
        "schedule": make_schedule(),
        "first_at": NOW,
        "last_at": NOW,
        "count": 1,
        "outcome": "skipped",
        "reason_code": "missed",
        "created_at": NOW,
    }
    with refused_by(constraint):
        ScheduleDecision.objects.create(**(values | fields))
    assert ScheduleDecision.objects.create(**values | {"outcome": "ran", "run": make_run()}).count == 1


def test_a_schedule_event_says_what_happened() -> None:
    with refused_by("schedule_events_code_is_not_blank"):
        ScheduleEvent.objects.create(schedule=make_schedule(), at=NOW, code="")


ONE_OFF: dict[str, Any] = {"starts_at": NOW, "ends_at": NOW + dt.timedelta(hours=2)}
RECURRING: dict[str, Any] = {"days": [6], "start_time": dt.time(22), "length_seconds": 7200, "time_zone": "UTC"}


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("windows_name_is_not_blank", ONE_OFF | {"name": ""}),
        ("windows_never_hold_restores", ONE_OFF | {"kinds": ["backup", "restore"]}),
        ("windows_start_on_whole_minutes", RECURRING | {"start_time": dt.time(8, 0, 1)}),
        ("windows_kind_is_known", ONE_OFF | {"kind": "maybe"}),
        ("windows_run_kinds_are_known", ONE_OFF | {"kinds": ["backup", "defragment"]}),
        ("windows_run_kinds_are_known", ONE_OFF | {"kinds": []}),
        ("windows_one_off_or_recurring", ONE_OFF | RECURRING),
        ("windows_one_off_or_recurring", {}),
        ("windows_one_off_or_recurring", ONE_OFF | {"ends_at": None}),
        ("windows_one_off_or_recurring", RECURRING | {"time_zone": ""}),
        ("windows_one_off_or_recurring", RECURRING | {"length_seconds": None}),
        ("windows_end_after_start", ONE_OFF | {"ends_at": NOW}),
        ("windows_length_is_at_most_7_days", RECURRING | {"length_seconds": 0}),
        ("windows_length_is_at_most_7_days", RECURRING | {"length_seconds": 7 * 86400 + 1}),
        ("windows_days_are_known", RECURRING | {"days": [0]}),
        ("windows_days_are_known", RECURRING | {"days": []}),
    ],
)
def test_a_bad_window_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    """B8, D2: one-off or recurring; a start and a length, never an end."""
    with refused_by(constraint):
        make_window(**fields)


def test_a_window_has_one_level() -> None:
    with refused_by("windows_has_one_level"):
        make_window(**ONE_OFF, repository=make_repository(), job=make_job())
    assert make_window(**ONE_OFF).name == "night"
    assert make_window(**RECURRING, job=make_job(), name="day").name == "day"


def test_a_name_names_one_window() -> None:
    """Whatever its case: an operator reads it as the reason why a run waits."""
    make_window(**ONE_OFF)
    with refused_by("windows_name_is_unique"):
        make_window(**RECURRING, name="NIGHT")


def make_window(**fields: Any) -> Window:
    values: dict[str, Any] = {
        "id": new_id(),
        "name": "night",
        "kind": "blackout",
        "kinds": ["backup", "prune"],
        "created_at": NOW,
    }
    return Window.objects.create(**(values | fields))


def test_the_scheduler_has_one_row() -> None:
    with refused_by("scheduler_state_has_one_row"):
        SchedulerState.objects.create(id=2)


def test_a_database_has_one_home() -> None:
    with refused_by("database_home_has_one_row"):
        DatabaseHome.objects.create(id=2, system_identifier=1, table_oid=1, since=NOW)
