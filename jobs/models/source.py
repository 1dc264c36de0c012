"""Sources and their place in jobs: one row per thing backed up, so that its limit holds across jobs (C2).

Owns the rows. `normalised_id` is the exact bytes of the path; `shown` is text for people, never read back.
"""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from jobs.models.job import Job
from jobs.models.runner import Runner
from jobs.states import SourceType

models.BinaryField.register_lookup(Length)


class Source(models.Model):
    """One thing on one runner that jobs back up."""

    id = models.UUIDField(primary_key=True, editable=False)
    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, related_name="sources", db_index=False)
    type = models.TextField(choices=SourceType.choices)
    normalised_id = models.BinaryField()
    shown = models.TextField()
    max_concurrent_runs = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "sources"
        ordering = ["shown", "id"]
        constraints = [
            models.UniqueConstraint(name="sources_once_per_runner", fields=["runner", "type", "normalised_id"]),
            models.CheckConstraint(name="sources_type_is_known", condition=Q(type__in=SourceType.values)),
            # An id longer than this is no path of any system, and would not fit a row of the unique index.
            models.CheckConstraint(
                name="sources_id_has_1_to_2000_bytes",
                condition=Q(normalised_id__length__gte=1) & Q(normalised_id__length__lte=2000),
            ),
            models.CheckConstraint(name="sources_run_limit_is_positive", condition=Q(max_concurrent_runs__gte=1)),
        ]

    def __str__(self) -> str:
        return self.shown


class JobSource(models.Model):
    """A source's place in a job, with the job's exclude rules for it."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="job_sources", db_index=False)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="job_sources")
    position = models.PositiveIntegerField()
    excludes = models.JSONField(default=list)

    class Meta:
        db_table = "job_sources"
        ordering = ["job", "position"]
        constraints = [
            models.UniqueConstraint(name="job_sources_source_once_per_job", fields=["job", "source"]),
            models.UniqueConstraint(name="job_sources_position_once_per_job", fields=["job", "position"]),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.position}"
