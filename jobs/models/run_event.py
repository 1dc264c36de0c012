"""Append-only events of runs: every move writes one in its own transaction; history and notifications feed on them.

Owns the row. Consumers never read by max(id): rows commit out of order (execution.md, section 5).
"""

from django.db import models
from django.db.models import Q

from jobs.models.run import Run


class RunEvent(models.Model):
    """One move of a run, or one thing that was asked of it; a trigger refuses any change."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="events", db_index=False)
    at = models.DateTimeField()
    code = models.TextField()
    from_state = models.TextField(blank=True, default="")
    to_state = models.TextField(blank=True, default="")
    fence = models.BigIntegerField(null=True, blank=True)
    actor = models.TextField(blank=True, default="")
    parameters = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "run_events"
        ordering = ["run", "id"]
        indexes = [models.Index(name="run_events_by_run", fields=["run", "id"])]
        constraints = [models.CheckConstraint(name="run_events_code_is_not_blank", condition=Q(code__regex=r"\S"))]

    def __str__(self) -> str:
        return self.code
