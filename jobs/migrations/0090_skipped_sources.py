"""Sources that a hook left out: an end of their own, with its reason, and neither a failure nor a success."""

from django.db import migrations, models
from django.db.models import Q

STATES = ("pending", "running", "succeeded", "partial_failure", "failed", "cancelled", "skipped")
LABELS = ("Pending", "Running", "Succeeded", "Partial failure", "Failed", "Cancelled", "Skipped by a hook")
FINISHED = Q(state__in=STATES[2:])
EXPLAINED = Q(state__in=("failed", "skipped"))
CONSTRAINTS = (
    models.CheckConstraint(name="task_runs_state_is_known", condition=Q(state__in=list(STATES))),
    models.CheckConstraint(
        name="task_runs_finished_has_an_end",
        condition=FINISHED & Q(finished_at__isnull=False) | ~FINISHED & Q(finished_at__isnull=True),
    ),
    models.CheckConstraint(
        name="task_runs_failed_has_a_failure_class",
        condition=Q(state__in=("failed", "skipped"), failure_class__gt="", error_code__gt="")
        | ~EXPLAINED & Q(failure_class=""),
    ),
)


class Migration(migrations.Migration):
    """Widens what is allowed: every row from before still is."""

    dependencies = [("jobs", "0039_lists_over_history")]

    operations = [
        migrations.AlterField(
            "taskrun",
            "state",
            models.TextField(choices=list(zip(STATES, LABELS, strict=True)), default="pending"),
        ),
        *(migrations.RemoveConstraint("taskrun", constraint.name) for constraint in CONSTRAINTS),
        *(migrations.AddConstraint("taskrun", constraint) for constraint in CONSTRAINTS),
    ]
