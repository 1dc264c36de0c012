"""Numbered revisions of a job (H1): a snapshot with its sources and schedules, pinned by a run at its admission.

Owns the row; a trigger refuses any change of it, since a run's proof of what it ran with must not move.
"""

from django.db import models
from django.db.models import Q

from jobs.models.job import Job


class JobRevision(models.Model):
    """What a job was from `created_at` until the next number; jobs.revisions writes and reads `snapshot`."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    snapshot = models.JSONField()
    created_at = models.DateTimeField()
    created_by = models.TextField()

    class Meta:
        db_table = "job_revisions"
        ordering = ["job", "number"]
        constraints = [
            models.UniqueConstraint(name="job_revisions_number_once_per_job", fields=["job", "number"]),
            models.CheckConstraint(name="job_revisions_number_is_positive", condition=Q(number__gte=1)),
            models.CheckConstraint(name="job_revisions_actor_is_not_blank", condition=Q(created_by__regex=r"\S")),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} revision {self.number}"
