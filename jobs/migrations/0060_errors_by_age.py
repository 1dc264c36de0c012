"""The index in which a search for errors begins: runs that have one, newest first."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Additive."""

    dependencies = [("jobs", "0090_skipped_sources")]

    operations = [
        migrations.AddIndex(
            "run",
            models.Index(name="runs_errors_by_age", fields=["-created_at", "-id"], condition=~Q(error_code="")),
        ),
    ]
