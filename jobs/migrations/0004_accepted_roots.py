"""Whether a run was asked for to confirm what its sources hold now; no earlier run was."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """A column that processes which do not know it yet leave at its default, and what must hold of it."""

    dependencies = [("jobs", "0003_worker_marks")]

    operations = [
        migrations.AddField("run", "accept_new_root", models.BooleanField(default=False, db_default=False)),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_new_root_is_accepted_by_hand",
                condition=Q(accept_new_root=False) | Q(kind="backup") & ~Q(trigger="schedule"),
            ),
        ),
    ]
