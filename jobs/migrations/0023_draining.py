"""Workers that an operator drains, and groups that nobody serves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Additive: processes that do not know the new columns leave them at their defaults."""

    dependencies = [("jobs", "0022_hooks")]

    operations = [
        migrations.AddField("runner", "dead_since", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("runner", "dead_told", models.BooleanField(default=False, db_default=False)),
        migrations.AddField("workerprocess", "drain_requested", models.BooleanField(default=False, db_default=False)),
    ]
