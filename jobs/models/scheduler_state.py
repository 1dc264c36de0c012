"""The scheduler's one row: when a pass last began, and since when silence of runs may be counted.

Owns the row. All its times are the database's, so that no host's clock decides who is orphaned.
"""

from django.db import models
from django.db.models import Q


class SchedulerState(models.Model):
    """`requests_seen` is the last value of the pass request sequence that a pass has answered.

    `tzdata_version` is the newest version of the zone data that a pass has run with: an older one moves no instant.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    last_pass_at = models.DateTimeField(null=True, blank=True)
    observed_since = models.DateTimeField(null=True, blank=True)
    requests_seen = models.BigIntegerField(default=0)
    tzdata_version = models.TextField(blank=True, default="", db_default="")

    class Meta:
        db_table = "scheduler_state"
        constraints = [models.CheckConstraint(name="scheduler_state_has_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return "scheduler"
