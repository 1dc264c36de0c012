"""Jobs: what is backed up, where to and under which policy. Deleted softly, since their runs are proof (D3).

Owns the row; its sources, schedules and revisions are rows of their own. `id` is the stable job uid (H1).
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length, Lower

from jobs.models.runner import Runner
from jobs.states import FINISHED_STATES, Priority, RunState
from repositories.engine.display import show_text
from repositories.models import Repository

models.TextField.register_lookup(Length)


class Job(models.Model):
    """One job; `last_*` are written in the transaction that finishes a run, so that lists need no history."""

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.TextField()
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="jobs", db_index=False)
    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, related_name="jobs")
    priority = models.TextField(choices=Priority.choices, default=Priority.NORMAL)
    # Bytes per second on reading the sources (C7).
    bandwidth_limit_bps = models.BigIntegerField(null=True, blank=True)
    strict = models.BooleanField(default=False)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    rpo_seconds = models.BigIntegerField(null=True, blank=True)
    start_deadline_seconds = models.BigIntegerField(null=True, blank=True)
    max_runtime_seconds = models.BigIntegerField(null=True, blank=True)
    # Moments and names in order; what a name runs stands on the executing machine alone.
    hooks = models.JSONField(default=list, blank=True, db_default=[])
    # The number of the newest revision; a change of the job makes the next one.
    revision_number = models.PositiveIntegerField(default=1)
    paused_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    last_run_id = models.UUIDField(null=True, blank=True)
    last_state = models.TextField(choices=RunState.choices, blank=True, default="")
    last_finished_at = models.DateTimeField(null=True, blank=True)
    last_succeeded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "jobs"
        ordering = [Lower("name"), "id"]
        indexes = [models.Index(name="jobs_by_repository", fields=["repository"])]
        constraints = [
            models.UniqueConstraint(
                Lower("name"), name="jobs_name_is_unique_while_kept", condition=Q(deleted_at__isnull=True)
            ),
            models.CheckConstraint(
                name="jobs_name_has_1_to_200_chars", condition=Q(name__regex=r"\S") & Q(name__length__lte=200)
            ),
            models.CheckConstraint(name="jobs_priority_is_known", condition=Q(priority__in=Priority.values)),
            models.CheckConstraint(
                name="jobs_bandwidth_is_positive",
                condition=Q(bandwidth_limit_bps__isnull=True) | Q(bandwidth_limit_bps__gt=0),
            ),
            models.CheckConstraint(
                name="jobs_attempts_are_1_to_10", condition=Q(max_attempts__gte=1) & Q(max_attempts__lte=10)
            ),
            models.CheckConstraint(
                name="jobs_rpo_is_positive", condition=Q(rpo_seconds__isnull=True) | Q(rpo_seconds__gt=0)
            ),
            models.CheckConstraint(
                name="jobs_start_deadline_is_positive",
                condition=Q(start_deadline_seconds__isnull=True) | Q(start_deadline_seconds__gt=0),
            ),
            models.CheckConstraint(
                name="jobs_max_runtime_is_positive",
                condition=Q(max_runtime_seconds__isnull=True) | Q(max_runtime_seconds__gt=0),
            ),
            models.CheckConstraint(name="jobs_revision_is_positive", condition=Q(revision_number__gte=1)),
            models.CheckConstraint(
                name="jobs_deleted_after_creation",
                condition=Q(deleted_at__isnull=True) | Q(deleted_at__gte=F("created_at")),
            ),
            models.CheckConstraint(
                name="jobs_last_state_is_an_end",
                condition=Q(last_state="", last_finished_at__isnull=True, last_run_id__isnull=True)
                | Q(last_state__in=FINISHED_STATES, last_finished_at__isnull=False, last_run_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return show_text(self.name)
