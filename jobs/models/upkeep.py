"""Upkeep plans: when a repository is checked, pruned and cleared of backups that no rule keeps, without a job.

Owns the rows and what became of instants that did not become runs. `next_at` is the due column; jobs.upkeep moves it.
"""

from django.db import models
from django.db.models import F, Q

from jobs.states import UPKEEP_KINDS, DecisionOutcome, RunKind
from repositories.models import Repository


class UpkeepPlan(models.Model):
    """One kind of upkeep of one repository; deleted softly, since runs name the plan that asked for them.

    `parameters` are those of its runs. A plan that cannot be planned is flagged, and plans nothing until it is mended.
    `next_wall`, `zone_rules` and `last_planned_at` are what they are for schedules (jobs.models.schedule).
    """

    id = models.UUIDField(primary_key=True, editable=False)
    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="upkeep", db_index=False)
    kind = models.TextField(choices=RunKind.choices)
    definition = models.JSONField()
    parameters = models.JSONField(default=dict, blank=True)
    anchor = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)
    next_wall = models.TextField(blank=True, default="", db_default="")
    zone_rules = models.TextField(blank=True, default="", db_default="")
    last_planned_at = models.DateTimeField(null=True, blank=True)
    flag = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "upkeep_plans"
        ordering = ["repository", "kind"]
        indexes = [
            models.Index(name="upkeep_plans_due", fields=["next_at", "id"], condition=Q(next_at__isnull=False, flag=""))
        ]
        constraints = [
            models.UniqueConstraint(
                name="upkeep_plans_one_per_kind", fields=["repository", "kind"], condition=Q(deleted_at__isnull=True)
            ),
            models.CheckConstraint(name="upkeep_plans_kind_is_upkeep", condition=Q(kind__in=UPKEEP_KINDS)),
            models.CheckConstraint(
                name="upkeep_plans_deleted_is_never_due",
                condition=Q(deleted_at__isnull=True) | Q(next_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.repository_id}"


class UpkeepDecision(models.Model):
    """What became of `count` planned instants from `first_at` to `last_at`, both included, that were no run (H7)."""

    upkeep = models.ForeignKey(UpkeepPlan, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.BigIntegerField()
    count_is_minimum = models.BooleanField(default=False)
    outcome = models.TextField(choices=DecisionOutcome.choices)
    reason_code = models.TextField()
    # A run of the same kind that stands for them; a plain id, which runs and plans do not both point along.
    run_id = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "upkeep_decisions"
        ordering = ["upkeep", "-id"]
        indexes = [models.Index(name="upkeep_decisions_by_age", fields=["upkeep", "-id"])]
        constraints = [
            models.CheckConstraint(name="upkeep_decisions_count_is_positive", condition=Q(count__gte=1)),
            models.CheckConstraint(name="upkeep_decisions_range_is_ordered", condition=Q(last_at__gte=F("first_at"))),
            models.CheckConstraint(
                name="upkeep_decisions_outcome_is_known", condition=Q(outcome__in=DecisionOutcome.values)
            ),
            models.CheckConstraint(name="upkeep_decisions_has_a_reason", condition=Q(reason_code__regex=r"\S")),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} x {self.count}"
