"""The hooks that a job names, and runs that end because one of them said that there is nothing to do."""

from django.db import migrations, models
from django.db.models import Q

ORIGINS = ("user", "shutdown", "job_deleted", "job_paused", "over_runtime", "hook")
ORIGIN_LABELS = (
    "Person",
    "Shutdown of the worker",
    "Job deleted",
    "Job paused",
    "Over runtime",
    "A hook of the job",
)


class Migration(migrations.Migration):
    """Additive: jobs from before name no hooks."""

    dependencies = [("jobs", "0021_upkeep_plans")]

    operations = [
        migrations.AddField("job", "hooks", models.JSONField(blank=True, default=list, db_default=[])),
        migrations.AlterField(
            "run",
            "cancel_origin",
            models.TextField(blank=True, choices=list(zip(ORIGINS, ORIGIN_LABELS, strict=True)), default=""),
        ),
        migrations.RemoveConstraint("run", "runs_cancel_origin_is_known"),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_cancel_origin_is_known",
                condition=Q(cancel_origin="") | Q(cancel_origin__in=list(ORIGINS)),
            ),
        ),
    ]
