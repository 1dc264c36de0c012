"""Runs: one execution each, a row of its own (D1). Only jobs.transitions writes `state`; a trigger keeps ends final.

Owns the columns; what the database must hold about them is in jobs.models.run_constraints.
"""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from jobs.models.job import Job
from jobs.models.revision import JobRevision
from jobs.models.run_constraints import RUN_CONSTRAINTS
from jobs.models.runner import Runner
from jobs.models.schedule import Schedule
from jobs.models.upkeep import UpkeepPlan
from jobs.states import CancelOrigin, FailureClass, HeldCode, Priority, RunKind, RunState, Trigger
from repositories.models import Repository

models.TextField.register_lookup(Length)


class Run(models.Model):
    """One run.

    `scheduled_for` is the planned instant and stays the same through retries and requeues; `not_before` is the first
    moment it may start; `fence` is new at each admission and guards every write of an executor.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    kind = models.TextField(choices=RunKind.choices)
    # The indexes below begin with job and repository; the other keys are never searched by in history.
    job = models.ForeignKey(Job, on_delete=models.PROTECT, null=True, blank=True, related_name="runs", db_index=False)
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="runs", db_index=False)
    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, related_name="runs", db_index=False)
    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    # The plan of a repository's upkeep that asked for it, as `schedule` is of a job.
    upkeep = models.ForeignKey(
        UpkeepPlan, on_delete=models.PROTECT, null=True, blank=True, related_name="runs", db_index=False
    )
    revision = models.ForeignKey(
        JobRevision, on_delete=models.PROTECT, null=True, blank=True, related_name="runs", db_index=False
    )
    # What a run without a job was asked to do (restore target, check depth); never a secret.
    parameters = models.JSONField(default=dict, blank=True)
    priority = models.TextField(choices=Priority.choices, default=Priority.NORMAL)
    trigger = models.TextField(choices=Trigger.choices)
    requested_by = models.TextField()
    # Whoever asked for it has confirmed what its sources hold now (2.6); what follows this run inherits that.
    accept_new_root = models.BooleanField(default=False, db_default=False)
    # Whoever asked for it may start it inside a blackout (execution.md, section 2); what follows it may as well.
    ignore_windows = models.BooleanField(default=False, db_default=False)
    # The same for the jobs that its job waits for (C4).
    ignore_dependencies = models.BooleanField(default=False, db_default=False)
    root_run = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="chain")
    origin_run = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="successors")
    attempt = models.PositiveSmallIntegerField(default=1)
    requeues = models.PositiveSmallIntegerField(default=0)

    state = models.TextField(choices=RunState.choices, default=RunState.QUEUED)
    fence = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    scheduled_for = models.DateTimeField()
    not_before = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True, blank=True)
    rings = models.PositiveSmallIntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    worker = models.TextField(blank=True, default="")
    # Proves to the same boot of the same machine that the worker's process is gone; empty where nothing can.
    worker_mark = models.TextField(blank=True, default="")
    progress = models.JSONField(null=True, blank=True)
    progress_at = models.DateTimeField(null=True, blank=True)

    held_code = models.TextField(choices=HeldCode.choices, blank=True, default="")
    held_subject = models.TextField(blank=True, default="")
    held_since = models.DateTimeField(null=True, blank=True)

    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_origin = models.TextField(choices=CancelOrigin.choices, blank=True, default="")
    cancelled_by = models.TextField(blank=True, default="")

    failure_class = models.TextField(choices=FailureClass.choices, blank=True, default="")
    error_code = models.TextField(blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    error_hint = models.TextField(blank=True, default="")
    reason_code = models.TextField(blank=True, default="")
    reason_parameters = models.JSONField(default=dict, blank=True)
    files = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    warnings = models.BigIntegerField(default=0)
    logical_bytes = models.BigIntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    bytes_stored = models.BigIntegerField(default=0)
    log_bytes = models.BigIntegerField(default=0)
    log_truncated = models.BooleanField(default=False)

    class Meta:
        db_table = "runs"
        ordering = ["-created_at", "-id"]
        constraints = RUN_CONSTRAINTS
        indexes = [
            models.Index(name="runs_by_age", fields=["-created_at", "-id"]),
            models.Index(name="runs_by_job", fields=["job", "-created_at", "-id"]),
            models.Index(name="runs_by_repository", fields=["repository", "-created_at", "-id"]),
            # Lists of what is rare among millions: a page of it must not walk through all that is not.
            models.Index(
                name="runs_by_state",
                fields=["state", "-created_at", "-id"],
                condition=~Q(state=RunState.SUCCEEDED),
            ),
            models.Index(name="runs_by_kind", fields=["kind", "-created_at", "-id"], condition=~Q(kind=RunKind.BACKUP)),
            # Where searches begin that look for errors; parts of words have indexes of their own (jobs.search_indexes).
            models.Index(name="runs_errors_by_age", fields=["-created_at", "-id"], condition=~Q(error_code="")),
            models.Index(
                name="runs_waiting",
                fields=["not_before", "id"],
                condition=Q(state=RunState.QUEUED, admitted_at__isnull=True),
            ),
            models.Index(
                name="runs_admitted",
                fields=["admitted_at"],
                condition=Q(state=RunState.QUEUED, admitted_at__isnull=False),
            ),
            models.Index(name="runs_running", fields=["heartbeat_at"], condition=Q(state=RunState.RUNNING)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
