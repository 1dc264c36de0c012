"""The wall time beside each stored instant, and the version of the zone rules that instants were computed with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Columns that processes which do not know them yet leave at their default: then instants are computed from now."""

    dependencies = [("jobs", "0005_windows_in_force")]

    operations = [
        migrations.AddField("schedule", "next_wall", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField(
            "schedulerstate", "tzdata_version", models.TextField(blank=True, default="", db_default="")
        ),
    ]
