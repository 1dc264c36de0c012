"""Windows come into force: runs that may ignore them, names that tell them apart, and what no window may hold."""

from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    """A column that processes which do not know it yet leave at its default, and what must hold of windows."""

    dependencies = [("jobs", "0004_accepted_roots")]

    operations = [
        migrations.AddField("run", "ignore_windows", models.BooleanField(default=False, db_default=False)),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_windows_are_ignored_by_hand",
                condition=Q(ignore_windows=False) | ~Q(trigger="schedule"),
            ),
        ),
        migrations.AddConstraint("window", models.UniqueConstraint(Lower("name"), name="windows_name_is_unique")),
        migrations.AddConstraint(
            "window",
            models.CheckConstraint(name="windows_never_hold_restores", condition=~Q(kinds__contains=["restore"])),
        ),
        migrations.AddConstraint(
            "window",
            models.CheckConstraint(
                name="windows_start_on_whole_minutes",
                condition=Q(start_time__isnull=True) | Q(start_time__second=0),
            ),
        ),
    ]
