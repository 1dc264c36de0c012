"""Task runs: what became of each source of a run (H2). Made at admission, written by the run's executor alone.

Owns the row; every write is guarded by the run's fence (jobs.task_runs).
"""

from typing import Final

from django.db import models
from django.db.models import BaseConstraint, F, Q

from jobs.models.run import Run
from jobs.models.source import Source
from jobs.states import EXPLAINED_TASK_STATES, FINISHED_TASK_STATES, BackupMode, FailureClass, TaskState

_FINISHED = Q(state__in=FINISHED_TASK_STATES)

_CONSTRAINTS: Final[list[BaseConstraint]] = [
    models.UniqueConstraint(name="task_runs_source_once_per_run", fields=["run", "source"]),
    models.UniqueConstraint(name="task_runs_position_once_per_run", fields=["run", "position"]),
    models.CheckConstraint(name="task_runs_state_is_known", condition=Q(state__in=TaskState.values)),
    models.CheckConstraint(name="task_runs_mode_is_known", condition=Q(mode="") | Q(mode__in=BackupMode.values)),
    models.CheckConstraint(
        name="task_runs_failure_class_is_known",
        condition=Q(failure_class="") | Q(failure_class__in=FailureClass.values),
    ),
    models.CheckConstraint(
        name="task_runs_finished_has_an_end",
        condition=_FINISHED & Q(finished_at__isnull=False) | ~_FINISHED & Q(finished_at__isnull=True),
    ),
    models.CheckConstraint(
        name="task_runs_end_is_not_before_start",
        condition=Q(finished_at__isnull=True) | Q(started_at__isnull=True) | Q(finished_at__gte=F("started_at")),
    ),
    models.CheckConstraint(
        name="task_runs_failed_has_a_failure_class",
        condition=Q(state__in=EXPLAINED_TASK_STATES, failure_class__gt="", error_code__gt="")
        | ~Q(state__in=EXPLAINED_TASK_STATES) & Q(failure_class=""),
    ),
    models.CheckConstraint(
        name="task_runs_success_has_a_backup",
        condition=~Q(state__in=(TaskState.SUCCEEDED, TaskState.PARTIAL_FAILURE))
        | Q(backup_id__gt="", manifest_id__gt="", mode__gt=""),
    ),
    models.CheckConstraint(
        name="task_runs_skipped_is_never_succeeded", condition=Q(skipped=0) | ~Q(state=TaskState.SUCCEEDED)
    ),
    models.CheckConstraint(
        name="task_runs_incremental_needs_a_parent",
        condition=~Q(mode=BackupMode.INCREMENTAL) | Q(parent_backup_id__gt=""),
    ),
    models.CheckConstraint(
        name="task_runs_figures_are_not_negative",
        condition=Q(files__gte=0)
        & Q(directories__gte=0)
        & Q(links__gte=0)
        & Q(others__gte=0)
        & Q(skipped__gte=0)
        & Q(warnings__gte=0)
        & Q(notes__gte=0)
        & Q(logical_bytes__gte=0)
        & Q(bytes_read__gte=0)
        & Q(bytes_stored__gte=0)
        & Q(new_chunks__gte=0),
    ),
]


class TaskRun(models.Model):
    """One source of one run, with its figures; `problems` holds the first hundred, the manifest holds all."""

    id = models.UUIDField(primary_key=True, editable=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="task_runs", db_index=False)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="task_runs", db_index=False)
    position = models.PositiveIntegerField()
    state = models.TextField(choices=TaskState.choices, default=TaskState.PENDING)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    mode = models.TextField(choices=BackupMode.choices, blank=True, default="")
    backup_id = models.TextField(blank=True, default="")
    parent_backup_id = models.TextField(blank=True, default="")
    chain = models.TextField(blank=True, default="")
    manifest_id = models.TextField(blank=True, default="")
    failure_class = models.TextField(choices=FailureClass.choices, blank=True, default="")
    error_code = models.TextField(blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    error_hint = models.TextField(blank=True, default="")
    problems = models.JSONField(default=list, blank=True)
    files = models.BigIntegerField(default=0)
    directories = models.BigIntegerField(default=0)
    links = models.BigIntegerField(default=0)
    others = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    warnings = models.BigIntegerField(default=0)
    notes = models.BigIntegerField(default=0)
    logical_bytes = models.BigIntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    bytes_stored = models.BigIntegerField(default=0)
    new_chunks = models.BigIntegerField(default=0)

    class Meta:
        db_table = "task_runs"
        ordering = ["run", "position"]
        constraints = _CONSTRAINTS
        indexes = [models.Index(name="task_runs_by_source", fields=["source", "-finished_at"])]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"
