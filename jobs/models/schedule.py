"""Schedules: when a job is due. `next_at` is the due column; jobs.calendar computes it, jobs.claims moves it (A14).

Owns the row. Deleted softly: runs and decisions name the schedule that planned them.
"""

from django.db import models
from django.db.models import Q

from jobs.models.job import Job
from jobs.states import MissedPolicy, ScheduleKind, ScheduleState


class Schedule(models.Model):
    """One schedule of a job.

    `definition` is the API's JSON; `anchor` is where an interval's grid begins; `fingerprint` covers kind, times,
    zone and the version of the zone rules, so that stored instants are recomputed only when one of them changed.
    `next_wall` is the wall time that `next_at` is for (ISO, local, no offset), "" for kinds that follow none;
    `zone_rules` are the zone's rules that it follows from (jobs.calendar.zone_rules), "" where nobody has said so yet.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="schedules")
    kind = models.TextField(choices=ScheduleKind.choices)
    definition = models.JSONField()
    anchor = models.DateTimeField()
    fingerprint = models.TextField()
    next_at = models.DateTimeField(null=True, blank=True)
    next_wall = models.TextField(blank=True, default="", db_default="")
    zone_rules = models.TextField(blank=True, default="", db_default="")
    last_planned_at = models.DateTimeField(null=True, blank=True)
    missed = models.TextField(choices=MissedPolicy.choices, default=MissedPolicy.ONCE)
    missed_within_seconds = models.BigIntegerField(null=True, blank=True)
    state = models.TextField(choices=ScheduleState.choices, default=ScheduleState.ACTIVE)
    state_code = models.TextField(blank=True, default="")
    state_parameters = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "schedules"
        ordering = ["job", "id"]
        indexes = [
            # The claim's only question: what is due? Rows without an instant are not even in the index.
            models.Index(
                name="schedules_due",
                fields=["next_at", "id"],
                condition=Q(next_at__isnull=False, state=ScheduleState.ACTIVE, deleted_at__isnull=True),
            ),
            # Which rules do instants follow, and whose instants follow older ones, soonest first?
            models.Index(
                name="schedules_by_zone_rules",
                fields=["zone_rules", "next_at", "id"],
                condition=Q(deleted_at__isnull=True),
            ),
            models.Index(
                name="schedules_flagged",
                fields=["zone_rules", "id"],
                condition=Q(state=ScheduleState.FLAGGED, deleted_at__isnull=True),
            ),
        ]
        constraints = [
            models.CheckConstraint(name="schedules_kind_is_known", condition=Q(kind__in=ScheduleKind.values)),
            models.CheckConstraint(name="schedules_state_is_known", condition=Q(state__in=ScheduleState.values)),
            models.CheckConstraint(name="schedules_missed_is_known", condition=Q(missed__in=MissedPolicy.values)),
            models.CheckConstraint(
                name="schedules_missed_within_has_a_time",
                condition=Q(missed=MissedPolicy.ONCE_WITHIN, missed_within_seconds__gt=0)
                & Q(missed_within_seconds__isnull=False)
                | ~Q(missed=MissedPolicy.ONCE_WITHIN) & Q(missed_within_seconds__isnull=True),
            ),
            models.CheckConstraint(
                name="schedules_manual_is_never_due",
                condition=~Q(kind=ScheduleKind.MANUAL) | Q(next_at__isnull=True),
            ),
            models.CheckConstraint(
                name="schedules_flagged_has_a_reason",
                condition=(~Q(state=ScheduleState.FLAGGED) | Q(state_code__gt=""))
                & (Q(state_code="") | Q(state=ScheduleState.FLAGGED)),
            ),
            models.CheckConstraint(
                name="schedules_deleted_is_never_due",
                condition=Q(deleted_at__isnull=True) | Q(next_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.job_id}"
