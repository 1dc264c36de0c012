"""Maintenance windows (B7, B8): one-off with two instants, or recurring with days, a start and a length.

Owns the row; jobs.windows evaluates it. A recurring window has no end, so nothing needs a rule for midnight.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from jobs.models.job import Job
from jobs.states import RunKind, WindowKind
from repositories.engine.display import show_text
from repositories.models import Repository

DAYS = [1, 2, 3, 4, 5, 6, 7]
SEVEN_DAYS = 7 * 24 * 3600
ONE_OFF = Q(
    starts_at__isnull=False,
    ends_at__isnull=False,
    days__isnull=True,
    start_time__isnull=True,
    length_seconds__isnull=True,
    time_zone="",
)
RECURRING = Q(
    starts_at__isnull=True,
    ends_at__isnull=True,
    days__isnull=False,
    start_time__isnull=False,
    length_seconds__isnull=False,
    time_zone__gt="",
)


class Window(models.Model):
    """One window; it applies everywhere unless it names a repository or a job. Days are ISO numbers, Monday 1."""

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.TextField()
    kind = models.TextField(choices=WindowKind.choices)
    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, null=True, blank=True, related_name="windows")
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, blank=True, related_name="windows")
    kinds = ArrayField(models.TextField(), default=list)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    days = ArrayField(models.SmallIntegerField(), null=True, blank=True)
    start_time = models.TimeField(null=True, blank=True)
    length_seconds = models.PositiveIntegerField(null=True, blank=True)
    time_zone = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "windows"
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(Lower("name"), name="windows_name_is_unique"),
            models.CheckConstraint(name="windows_name_is_not_blank", condition=Q(name__regex=r"\S")),
            models.CheckConstraint(name="windows_kind_is_known", condition=Q(kind__in=WindowKind.values)),
            models.CheckConstraint(
                name="windows_run_kinds_are_known",
                condition=Q(kinds__contained_by=RunKind.values) & Q(kinds__len__gt=0),
            ),
            # Who needs data back has no time to wait.
            models.CheckConstraint(
                name="windows_never_hold_restores", condition=~Q(kinds__contains=[RunKind.RESTORE.value])
            ),
            models.CheckConstraint(
                name="windows_start_on_whole_minutes",
                condition=Q(start_time__isnull=True) | Q(start_time__second=0),
            ),
            models.CheckConstraint(name="windows_one_off_or_recurring", condition=ONE_OFF | RECURRING),
            models.CheckConstraint(
                name="windows_end_after_start", condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at"))
            ),
            models.CheckConstraint(
                name="windows_length_is_at_most_7_days",
                condition=Q(length_seconds__isnull=True) | Q(length_seconds__gt=0) & Q(length_seconds__lte=SEVEN_DAYS),
            ),
            models.CheckConstraint(
                name="windows_days_are_known",
                condition=Q(days__isnull=True) | Q(days__contained_by=DAYS) & Q(days__len__gt=0),
            ),
            models.CheckConstraint(
                name="windows_has_one_level", condition=Q(repository__isnull=True) | Q(job__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return show_text(self.name)
