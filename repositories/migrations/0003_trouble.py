"""What the last run said when it could not open a repository."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Empty for all rows: what was unreachable before is told by the next run."""

    dependencies = [("repositories", "0002_freeze_journal_append_only")]

    operations = [
        migrations.AddField("repository", "trouble_code", models.TextField(blank=True, default="")),
        migrations.AddField("repository", "trouble_reason", models.TextField(blank=True, default="")),
        migrations.AddField("repository", "trouble_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddConstraint(
            "repository",
            models.CheckConstraint(
                name="repositories_trouble_has_a_time",
                condition=Q(trouble_at__isnull=True, trouble_code="")
                | Q(trouble_at__isnull=False, trouble_code__gt=""),
            ),
        ),
    ]
