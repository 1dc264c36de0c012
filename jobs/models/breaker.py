"""The circuit breaker of each repository: how often in a row runs failed because of it (execution.md, section 2).

Owns the row; jobs.breakers says what an end means for it. A repository without a row has never failed.
"""

from typing import Final

from django.db import models
from django.db.models import Q

from repositories.models import Repository

# A breaker that opens earlier would take a single chain's hiccup for an outage.
OPENS_AFTER: Final = 3


class RepositoryBreaker(models.Model):
    """`failures` in a row, `trips` since it last worked; open until `open_until`, then one run tries it first.

    `error_code` is the last failure's. A run that a working repository ends sets all back.
    """

    repository = models.OneToOneField(Repository, on_delete=models.CASCADE, primary_key=True, related_name="breaker")
    failures = models.PositiveIntegerField(default=0)
    trips = models.PositiveIntegerField(default=0)
    open_until = models.DateTimeField(null=True, blank=True)
    error_code = models.TextField(blank=True, default="")
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "repository_breakers"
        ordering = ["repository"]
        constraints = [
            models.CheckConstraint(
                name="repository_breakers_open_has_an_end",
                condition=Q(trips=0, open_until__isnull=True) | Q(trips__gte=1, open_until__isnull=False),
            ),
            models.CheckConstraint(
                name="repository_breakers_opens_after_failures", condition=Q(trips=0) | Q(failures__gte=OPENS_AFTER)
            ),
            models.CheckConstraint(
                name="repository_breakers_names_its_failure",
                condition=Q(failures=0, error_code="") | Q(failures__gte=1, error_code__gt=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.failures} failures of {self.repository_id}"
