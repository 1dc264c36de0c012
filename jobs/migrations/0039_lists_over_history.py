"""Indexes of the lists that look for what is rare in a long history: runs that did not succeed, runs without a job."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Additive. What is common needs none of them: a page of it is found at once among the newest runs."""

    dependencies = [("jobs", "0050_restored_database")]

    operations = [
        migrations.AddIndex(
            "run",
            models.Index(name="runs_by_state", fields=["state", "-created_at", "-id"], condition=~Q(state="succeeded")),
        ),
        migrations.AddIndex(
            "run",
            models.Index(name="runs_by_kind", fields=["kind", "-created_at", "-id"], condition=~Q(kind="backup")),
        ),
    ]
