"""PostgreSQL refuses bad rows of runs, task runs, events and logs (D1, D2; execution.md, section 1)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from jobs.models import Run, RunEvent, RunLogChunk, TaskRun
from jobs.models.run_constraints import MAX_LOG_BYTES
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_source, make_task_run
from tests.refusals import refused_by
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db

LATER = NOW + dt.timedelta(minutes=1)
EARLIER = NOW - dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("constraint", "state", "fields"),
    [
        ("runs_kind_is_known", "queued", {"kind": "defragment"}),
        ("runs_state_is_known", "dreaming", {"finished_at": None}),
        ("runs_trigger_is_known", "queued", {"trigger": "whim"}),
        ("runs_priority_is_known", "queued", {"priority": "urgent"}),
        ("runs_failure_class_is_known", "failed", {"failure_class": "gremlins"}),
        ("runs_cancel_origin_is_known", "cancelled", {"cancel_origin": "weather"}),
        ("runs_held_reason_is_known", "queued", {"held_code": "mood", "held_since": NOW}),
        ("runs_held_reason_is_known", "queued", {"held_code": "frozen"}),
        ("runs_held_reason_is_known", "queued", {"held_subject": "vault"}),
        ("runs_scheduled_has_a_schedule", "queued", {"trigger": "schedule"}),
        ("runs_successor_has_an_origin", "queued", {"trigger": "retry", "attempt": 2}),
        ("runs_successor_has_an_origin", "queued", {"trigger": "requeue"}),
        ("runs_attempt_is_1_to_10", "queued", {"attempt": 0}),
        ("runs_attempt_is_1_to_10", "queued", {"attempt": 11}),
        ("runs_requeues_are_at_most_3", "queued", {"requeues": 4}),
        ("runs_fence_is_positive", "queued", {"fence": 0}),
        ("runs_queued_has_not_started", "queued", {"started_at": NOW}),
        ("runs_queued_has_not_started", "queued", {"heartbeat_at": NOW}),
        ("runs_queued_has_not_started", "queued", {"worker": "alpha:1"}),
        ("runs_admitted_has_a_fence", "queued", {"admitted": True, "fence": None}),
        ("runs_admitted_backup_has_a_revision", "queued", {"admitted": True, "revision": None}),
        ("runs_running_was_admitted", "running", {"admitted_at": None}),
        ("runs_running_was_admitted", "running", {"started_at": None}),
        ("runs_running_was_admitted", "running", {"heartbeat_at": None}),
        ("runs_running_was_admitted", "running", {"worker": ""}),
        ("runs_succeeded_was_started", "succeeded", {"started_at": None}),
        ("runs_succeeded_was_started", "partial_failure", {"started_at": None}),
        ("runs_finished_has_an_end", "succeeded", {"finished_at": None}),
        ("runs_finished_has_an_end", "running", {"finished_at": NOW}),
        ("runs_finished_has_an_end", "queued", {"finished_at": NOW}),
        ("runs_end_is_not_before_start", "succeeded", {"started_at": NOW, "finished_at": EARLIER}),
        ("runs_not_before_its_instant", "queued", {"not_before": EARLIER}),
        ("runs_requested_by_somebody", "queued", {"requested_by": " "}),
        ("runs_new_root_is_accepted_by_hand", "queued", {"accept_new_root": True, "kind": "check"}),
        ("runs_failed_has_a_failure_class", "failed", {"failure_class": ""}),
        ("runs_failed_has_a_failure_class", "failed", {"error_code": ""}),
        ("runs_failed_has_a_failure_class", "succeeded", {"failure_class": "source"}),
        ("runs_skipped_is_never_succeeded", "succeeded", {"skipped": 1}),
        ("runs_cancelled_has_an_origin", "cancelled", {"cancel_origin": ""}),
        ("runs_cancel_request_has_an_origin", "running", {"cancel_requested_at": NOW}),
        ("runs_figures_are_not_negative", "queued", {"files": -1}),
        ("runs_figures_are_not_negative", "running", {"skipped": -1}),
        ("runs_figures_are_not_negative", "queued", {"warnings": -1}),
        ("runs_figures_are_not_negative", "queued", {"logical_bytes": -1}),
        ("runs_figures_are_not_negative", "queued", {"bytes_read": -1}),
        ("runs_figures_are_not_negative", "queued", {"bytes_stored": -1}),
        ("runs_log_is_at_most_4_mib", "queued", {"log_bytes": MAX_LOG_BYTES + 1}),
        ("runs_log_is_at_most_4_mib", "queued", {"log_bytes": -1}),
    ],
)
def test_a_bad_run_is_refused(constraint: str, state: str, fields: dict[str, Any]) -> None:
    """D2."""
    job = make_job()
    with refused_by(constraint):
        make_run(job, state, **fields)


@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "partial_failure", "failed", "cancelled"])
def test_a_good_run_is_not(state: str) -> None:
    assert make_run(state=state).state == state


def test_a_restore_has_no_job() -> None:
    job = make_job()
    run = make_run(kind="restore")
    with refused_by("runs_only_backup_has_a_job"):
        Run.objects.filter(id=run.id).update(job=job)
    with refused_by("runs_only_backup_has_a_job"):
        Run.objects.filter(id=make_run(job).id).update(job=None)


@pytest.mark.parametrize(("first", "second"), [("queued", "queued"), ("running", "queued"), ("queued", "running")])
def test_one_active_run_per_job(first: str, second: str) -> None:
    """D1."""
    job = make_job()
    make_run(job, "succeeded")
    make_run(job, first)
    with refused_by("runs_one_active_per_job"):
        make_run(job, second)


@pytest.mark.parametrize("kind", ["check", "prune", "forget"])
def test_one_active_upkeep_of_a_kind(kind: str) -> None:
    repository = make_repository()
    make_run(kind=kind, repository=repository)
    make_run(kind=kind)
    with refused_by("runs_one_active_upkeep"):
        make_run(kind=kind, repository=repository)


def test_restores_are_unlimited() -> None:
    repository = make_repository()
    assert {make_run(kind="restore", repository=repository).state for _ in range(3)} == {"queued"}


def test_one_scheduled_run_per_instant_but_any_number_of_retries() -> None:
    """D1: two schedulers hand an instant out once; its retries keep the planned instant."""
    schedule = make_schedule()
    first = make_run(schedule.job, "failed", trigger="schedule", schedule=schedule)
    for attempt in (2, 3):
        make_run(
            schedule.job,
            "failed",
            trigger="retry",
            schedule=schedule,
            origin_run=first,
            root_run=first,
            attempt=attempt,
        )
    with refused_by("runs_one_per_schedule_instant"):
        make_run(schedule.job, trigger="schedule", schedule=schedule)


def test_a_schedule_accepts_no_new_root() -> None:
    """2.6: a person does, and the retries of that run."""
    schedule = make_schedule()
    with refused_by("runs_new_root_is_accepted_by_hand"):
        make_run(schedule.job, trigger="schedule", schedule=schedule, accept_new_root=True)
    first = make_run(schedule.job, "failed", accept_new_root=True)
    following: dict[str, Any] = {"origin_run": first, "root_run": first, "attempt": 2}
    assert make_run(schedule.job, trigger="retry", accept_new_root=True, **following).accept_new_root


def test_no_schedule_is_above_the_windows() -> None:
    """execution.md, section 2: only who asks by hand may ignore them, and what follows that run."""
    schedule = make_schedule()
    with refused_by("runs_windows_are_ignored_by_hand"):
        make_run(schedule.job, trigger="schedule", schedule=schedule, ignore_windows=True)
    assert make_run(schedule.job, ignore_windows=True).ignore_windows


def test_no_schedule_is_above_dependencies_and_nothing_but_backups_has_any() -> None:
    """C4: only who asks by hand may ignore them, and what follows that run."""
    schedule = make_schedule()
    with refused_by("runs_dependencies_are_ignored_by_hand"):
        make_run(schedule.job, trigger="schedule", schedule=schedule, ignore_dependencies=True)
    with refused_by("runs_dependencies_are_ignored_by_hand"):
        make_run(kind="check", ignore_dependencies=True)
    assert make_run(schedule.job, ignore_dependencies=True).ignore_dependencies


def test_a_fence_is_given_once() -> None:
    make_run(admitted=True, fence=7)
    with refused_by("runs_fence_is_unique"):
        make_run(admitted=True, fence=7)


@pytest.mark.parametrize("state", ["succeeded", "partial_failure", "failed", "cancelled"])
@pytest.mark.parametrize(
    "change",
    [
        {"state": "running", "finished_at": None},
        {"finished_at": LATER},
        {"files": 9},
        {"reason_code": "other"},
        {"error_message": "other"},
        {"started_at": EARLIER},
        {"fence": 5},
        {"attempt": 2},
        {"cancel_requested_at": NOW, "cancel_origin": "user"},
    ],
)
def test_an_end_is_final(state: str, change: dict[str, Any]) -> None:
    """execution.md, section 1: a trigger refuses a change of a finished run's state and verdict."""
    run = make_run(state=state)
    with refused_by("runs_finished_is_final"):
        Run.objects.filter(id=run.id).update(**change)


def test_a_log_may_still_come_after_the_end() -> None:
    run = make_run(state="succeeded")
    assert Run.objects.filter(id=run.id).update(log_bytes=5, log_truncated=True) == 1


def test_a_running_run_is_never_queued_again() -> None:
    run = make_run(state="running")
    with refused_by("runs_running_never_goes_back"):
        Run.objects.filter(id=run.id).update(state="queued", started_at=None, heartbeat_at=None, worker="")


FINISHED: dict[str, Any] = {"state": "succeeded", "finished_at": NOW, "started_at": NOW}
FAILED: dict[str, Any] = {"state": "failed", "finished_at": NOW, "failure_class": "source", "error_code": "X"}
BACKUP: dict[str, Any] = {"backup_id": "b", "manifest_id": "m", "mode": "full"}


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("task_runs_state_is_known", {"state": "dreaming"}),
        ("task_runs_mode_is_known", {"mode": "differential"}),
        ("task_runs_failure_class_is_known", FAILED | {"failure_class": "gremlins"}),
        ("task_runs_finished_has_an_end", FINISHED | BACKUP | {"finished_at": None}),
        ("task_runs_finished_has_an_end", {"finished_at": NOW}),
        ("task_runs_end_is_not_before_start", FINISHED | BACKUP | {"finished_at": EARLIER}),
        ("task_runs_failed_has_a_failure_class", FAILED | {"failure_class": ""}),
        ("task_runs_failed_has_a_failure_class", FAILED | {"error_code": ""}),
        ("task_runs_failed_has_a_failure_class", FAILED | {"state": "skipped", "failure_class": ""}),
        ("task_runs_failed_has_a_failure_class", FINISHED | BACKUP | {"failure_class": "source"}),
        ("task_runs_success_has_a_backup", FINISHED | BACKUP | {"backup_id": ""}),
        ("task_runs_success_has_a_backup", FINISHED | BACKUP | {"manifest_id": ""}),
        ("task_runs_success_has_a_backup", FINISHED | BACKUP | {"mode": ""}),
        ("task_runs_success_has_a_backup", FINISHED | {"state": "partial_failure", "skipped": 1}),
        ("task_runs_skipped_is_never_succeeded", FINISHED | BACKUP | {"skipped": 1}),
        ("task_runs_incremental_needs_a_parent", FINISHED | BACKUP | {"mode": "incremental"}),
        ("task_runs_figures_are_not_negative", {"files": -1}),
        ("task_runs_figures_are_not_negative", {"directories": -1}),
        ("task_runs_figures_are_not_negative", {"new_chunks": -1}),
        ("task_runs_figures_are_not_negative", {"bytes_stored": -1}),
    ],
)
def test_a_bad_task_run_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    """D2."""
    run = make_run()
    with refused_by(constraint):
        make_task_run(run, **fields)


def test_a_good_task_run_is_not() -> None:
    incremental = FINISHED | BACKUP | {"mode": "incremental", "parent_backup_id": "p"}
    assert make_task_run(**incremental).mode == "incremental"


def test_a_source_and_a_place_come_once_in_a_run() -> None:
    """H2."""
    run, source = make_run(), make_source()
    make_task_run(run, source)
    with refused_by("task_runs_source_once_per_run"):
        make_task_run(run, source)
    with refused_by("task_runs_position_once_per_run"):
        make_task_run(run, position=0)


def test_events_have_a_code_and_are_never_rewritten() -> None:
    run = make_run()
    with refused_by("run_events_code_is_not_blank"):
        RunEvent.objects.create(run=run, at=NOW, code=" ")
    event = RunEvent.objects.create(run=run, at=NOW, code="queued")
    with refused_by("run_events_is_append_only"):
        RunEvent.objects.filter(id=event.id).update(code="admitted")
    with refused_by("run_events_is_append_only"):
        event.delete()


def test_log_chunks_are_bounded_and_numbered_once() -> None:
    """H6."""
    run = make_run()
    chunk: Callable[..., RunLogChunk] = RunLogChunk.objects.create
    for data in (b"", b"x" * (64 * 1024 + 1)):
        with refused_by("run_log_chunks_have_1_byte_to_64_kib"):
            chunk(run=run, sequence=0, data=data, lines=1, created_at=NOW)
    chunk(run=run, sequence=0, data=b"x" * 64 * 1024, lines=1, created_at=NOW)
    with refused_by("run_log_chunks_sequence_once_per_run"):
        chunk(run=run, sequence=0, data=b"x", lines=1, created_at=NOW)


def test_task_runs_of_a_run_stay_with_it() -> None:
    assert TaskRun._meta.get_field("run").remote_field.on_delete.__name__ == "PROTECT"  # type: ignore[union-attr]
