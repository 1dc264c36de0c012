"""The rules of its zone beside each stored instant, also of upkeep, so that newer zone data moves only what it changes."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Additive: rows that say nothing of their rules, also those of processes from before, are looked at once."""

    dependencies = [("jobs", "0023_draining")]

    operations = [
        migrations.AddField("schedule", "zone_rules", models.TextField(blank=True, default="", db_default="")),
        migrations.AddIndex(
            "schedule",
            models.Index(
                name="schedules_by_zone_rules",
                fields=["zone_rules", "next_at", "id"],
                condition=Q(deleted_at__isnull=True),
            ),
        ),
        migrations.AddIndex(
            "schedule",
            models.Index(
                name="schedules_flagged",
                fields=["zone_rules", "id"],
                condition=Q(state="flagged", deleted_at__isnull=True),
            ),
        ),
        migrations.AddField("upkeepplan", "next_wall", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("upkeepplan", "zone_rules", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("upkeepplan", "last_planned_at", models.DateTimeField(blank=True, null=True)),
    ]
