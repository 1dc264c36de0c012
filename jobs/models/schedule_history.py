"""What happened to a schedule, and what became of each instant that did not become a run (H7).

Owns the rows. Codes and parameters are stored; sentences are made when they are read.
"""

from django.db import models
from django.db.models import F, Q

from jobs.models.run import Run
from jobs.models.schedule import Schedule
from jobs.states import DecisionOutcome


class ScheduleEvent(models.Model):
    """One change of a schedule: created, flagged, recomputed, resumed, deleted."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField()
    code = models.TextField()
    parameters = models.JSONField(default=dict)
    actor = models.TextField(blank=True, default="")

    class Meta:
        db_table = "schedule_events"
        ordering = ["schedule", "id"]
        indexes = [models.Index(name="schedule_events_by_schedule", fields=["schedule", "id"])]
        constraints = [models.CheckConstraint(name="schedule_events_code_is_not_blank", condition=Q(code__regex=r"\S"))]

    def __str__(self) -> str:
        return self.code


class ScheduleDecision(models.Model):
    """What became of `count` planned instants from `first_at` to `last_at`, both included."""

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.BigIntegerField()
    count_is_minimum = models.BooleanField(default=False)
    outcome = models.TextField(choices=DecisionOutcome.choices)
    reason_code = models.TextField()
    parameters = models.JSONField(default=dict)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="decisions")
    created_at = models.DateTimeField()

    class Meta:
        db_table = "schedule_decisions"
        ordering = ["schedule", "-id"]
        indexes = [models.Index(name="schedule_decisions_by_age", fields=["schedule", "-id"])]
        constraints = [
            models.CheckConstraint(name="schedule_decisions_count_is_positive", condition=Q(count__gte=1)),
            models.CheckConstraint(
                name="schedule_decisions_range_is_ordered",
                condition=Q(last_at__gt=F("first_at")) | Q(last_at=F("first_at"), count=1),
            ),
            models.CheckConstraint(
                name="schedule_decisions_outcome_is_known", condition=Q(outcome__in=DecisionOutcome.values)
            ),
            models.CheckConstraint(name="schedule_decisions_has_a_reason", condition=Q(reason_code__regex=r"\S")),
            models.CheckConstraint(
                name="schedule_decisions_ran_names_its_run",
                condition=~Q(outcome=DecisionOutcome.RAN) | Q(run__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} x {self.count}"
