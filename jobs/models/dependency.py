"""Which job waits for which (C4): a dependency gates, it never triggers.

Owns the row. Cycles are refused by the service that adds it, with a sentence, and by a trigger (migration 0010), for
whoever writes: both take the same lock, so that two edits at once close none between them.
"""

from django.db import models
from django.db.models import F, Q

from jobs.models.job import Job


class JobDependency(models.Model):
    """`job` starts only while the last finished run of `predecessor` succeeded (jobs.dependencies)."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="dependencies", db_index=False)
    predecessor = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="dependents")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "job_dependencies"
        ordering = ["job", "id"]
        verbose_name_plural = "job dependencies"
        constraints = [
            models.UniqueConstraint(name="job_dependencies_pair_once", fields=["job", "predecessor"]),
            models.CheckConstraint(name="job_dependencies_never_on_itself", condition=~Q(job=F("predecessor"))),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} after {self.predecessor_id}"
