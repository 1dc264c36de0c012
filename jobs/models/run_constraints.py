"""What the database must hold about runs (D1, D2; execution.md, section 1), whoever writes them.

Owns the constraints of the table `runs` alone; tests/jobs/test_run_constraints.py has PostgreSQL refuse each bad row.
"""

from typing import Final

from django.db.models import BaseConstraint, CheckConstraint, F, Q, UniqueConstraint

from jobs.states import (
    ACTIVE_STATES,
    FINISHED_STATES,
    UPKEEP_KINDS,
    CancelOrigin,
    FailureClass,
    HeldCode,
    Priority,
    RunKind,
    RunState,
    Trigger,
)

MAX_LOG_BYTES: Final = 4 * 1024 * 1024
MAX_REQUEUES: Final = 3

_ACTIVE = Q(state__in=ACTIVE_STATES)
_FINISHED = Q(state__in=FINISHED_STATES)

_SETS = (
    CheckConstraint(name="runs_kind_is_known", condition=Q(kind__in=RunKind.values)),
    CheckConstraint(name="runs_state_is_known", condition=Q(state__in=RunState.values)),
    CheckConstraint(name="runs_trigger_is_known", condition=Q(trigger__in=Trigger.values)),
    CheckConstraint(name="runs_priority_is_known", condition=Q(priority__in=Priority.values)),
    CheckConstraint(
        name="runs_failure_class_is_known", condition=Q(failure_class="") | Q(failure_class__in=FailureClass.values)
    ),
    CheckConstraint(
        name="runs_cancel_origin_is_known", condition=Q(cancel_origin="") | Q(cancel_origin__in=CancelOrigin.values)
    ),
    CheckConstraint(
        name="runs_held_reason_is_known",
        condition=Q(held_code="", held_since__isnull=True, held_subject="")
        | Q(held_code__in=HeldCode.values, held_since__isnull=False),
    ),
)

_ONE_ACTIVE = (
    UniqueConstraint(name="runs_one_active_per_job", fields=["job"], condition=_ACTIVE & Q(job__isnull=False)),
    UniqueConstraint(
        name="runs_one_active_upkeep", fields=["repository", "kind"], condition=_ACTIVE & Q(kind__in=UPKEEP_KINDS)
    ),
    # Retries and requeues keep the planned instant of their root, so only the scheduled row itself is unique.
    UniqueConstraint(
        name="runs_one_per_schedule_instant",
        fields=["schedule", "scheduled_for"],
        condition=Q(trigger=Trigger.SCHEDULE),
    ),
    UniqueConstraint(
        name="runs_one_per_upkeep_instant", fields=["upkeep", "scheduled_for"], condition=Q(trigger=Trigger.SCHEDULE)
    ),
    UniqueConstraint(name="runs_fence_is_unique", fields=["fence"], condition=Q(fence__isnull=False)),
)

_LIFE = (
    CheckConstraint(
        name="runs_only_backup_has_a_job",
        condition=Q(kind=RunKind.BACKUP, job__isnull=False) | ~Q(kind=RunKind.BACKUP) & Q(job__isnull=True),
    ),
    CheckConstraint(
        name="runs_scheduled_has_a_schedule",
        condition=~Q(trigger=Trigger.SCHEDULE) | Q(schedule__isnull=False) | Q(upkeep__isnull=False),
    ),
    CheckConstraint(
        name="runs_successor_has_an_origin",
        condition=~Q(trigger__in=(Trigger.RETRY, Trigger.REQUEUE))
        | Q(root_run__isnull=False, origin_run__isnull=False),
    ),
    CheckConstraint(name="runs_attempt_is_1_to_10", condition=Q(attempt__gte=1) & Q(attempt__lte=10)),
    CheckConstraint(name="runs_requeues_are_at_most_3", condition=Q(requeues__lte=MAX_REQUEUES)),
    CheckConstraint(name="runs_fence_is_positive", condition=Q(fence__isnull=True) | Q(fence__gte=1)),
    CheckConstraint(
        name="runs_queued_has_not_started",
        condition=~Q(state=RunState.QUEUED) | Q(started_at__isnull=True, heartbeat_at__isnull=True, worker=""),
    ),
    CheckConstraint(name="runs_admitted_has_a_fence", condition=Q(admitted_at__isnull=True) | Q(fence__isnull=False)),
    CheckConstraint(
        name="runs_admitted_backup_has_a_revision",
        condition=~Q(kind=RunKind.BACKUP) | Q(admitted_at__isnull=True) | Q(revision__isnull=False),
    ),
    CheckConstraint(
        name="runs_running_was_admitted",
        condition=~Q(state=RunState.RUNNING)
        | Q(admitted_at__isnull=False, started_at__isnull=False, heartbeat_at__isnull=False, worker__gt=""),
    ),
    CheckConstraint(
        name="runs_succeeded_was_started",
        condition=~Q(state__in=(RunState.SUCCEEDED, RunState.PARTIAL_FAILURE)) | Q(started_at__isnull=False),
    ),
    CheckConstraint(
        name="runs_finished_has_an_end",
        condition=_FINISHED & Q(finished_at__isnull=False) | ~_FINISHED & Q(finished_at__isnull=True),
    ),
    CheckConstraint(
        name="runs_end_is_not_before_start",
        condition=Q(finished_at__isnull=True) | Q(started_at__isnull=True) | Q(finished_at__gte=F("started_at")),
    ),
    CheckConstraint(name="runs_not_before_its_instant", condition=Q(not_before__gte=F("scheduled_for"))),
    CheckConstraint(name="runs_requested_by_somebody", condition=Q(requested_by__regex=r"\S")),
    # A schedule has seen nothing that it could confirm.
    CheckConstraint(
        name="runs_new_root_is_accepted_by_hand",
        condition=Q(accept_new_root=False) | Q(kind=RunKind.BACKUP) & ~Q(trigger=Trigger.SCHEDULE),
    ),
    # A plan is never above the windows that were made to hold it.
    CheckConstraint(
        name="runs_windows_are_ignored_by_hand",
        condition=Q(ignore_windows=False) | ~Q(trigger=Trigger.SCHEDULE),
    ),
    CheckConstraint(
        name="runs_dependencies_are_ignored_by_hand",
        condition=Q(ignore_dependencies=False) | Q(kind=RunKind.BACKUP) & ~Q(trigger=Trigger.SCHEDULE),
    ),
)

_VERDICT = (
    CheckConstraint(
        name="runs_failed_has_a_failure_class",
        condition=Q(state=RunState.FAILED, failure_class__gt="", error_code__gt="")
        | ~Q(state=RunState.FAILED) & Q(failure_class=""),
    ),
    CheckConstraint(name="runs_skipped_is_never_succeeded", condition=Q(skipped=0) | ~Q(state=RunState.SUCCEEDED)),
    CheckConstraint(
        name="runs_cancelled_has_an_origin", condition=~Q(state=RunState.CANCELLED) | Q(cancel_origin__gt="")
    ),
    CheckConstraint(
        name="runs_cancel_request_has_an_origin",
        condition=Q(cancel_requested_at__isnull=True) | Q(cancel_origin__gt=""),
    ),
    CheckConstraint(
        name="runs_figures_are_not_negative",
        condition=Q(files__gte=0)
        & Q(skipped__gte=0)
        & Q(warnings__gte=0)
        & Q(logical_bytes__gte=0)
        & Q(bytes_read__gte=0)
        & Q(bytes_stored__gte=0),
    ),
    CheckConstraint(name="runs_log_is_at_most_4_mib", condition=Q(log_bytes__gte=0) & Q(log_bytes__lte=MAX_LOG_BYTES)),
)

RUN_CONSTRAINTS: Final[list[BaseConstraint]] = [*_SETS, *_ONE_ACTIVE, *_LIFE, *_VERDICT]
