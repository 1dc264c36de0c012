"""Who is the control plane of a repository, whether its catalogue has to be rebuilt, and manifests by job (H3)."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Additive: processes that do not know the new columns leave them at their defaults."""

    dependencies = [("repositories", "0004_memory")]

    operations = [
        migrations.AddField("repository", "epoch", models.PositiveIntegerField(db_default=1, default=1)),
        migrations.AddField("repository", "reindex_wanted_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("repository", "reindex_reason", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("repository", "reindexed_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddConstraint(
            "repository",
            models.CheckConstraint(name="repositories_epoch_is_positive", condition=Q(epoch__gte=1)),
        ),
        migrations.AddConstraint(
            "repository",
            models.CheckConstraint(
                name="repositories_reindex_says_why",
                condition=Q(reindex_wanted_at__isnull=True, reindex_reason="")
                | Q(reindex_wanted_at__isnull=False, reindex_reason__gt=""),
            ),
        ),
        migrations.AlterField("backup", "run_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("backup", "job_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("backup", "host", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("backup", "source_type", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("backup", "trigger", models.TextField(blank=True, db_default="", default="")),
        migrations.AddField("backup", "scheduled_for", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("backup", "is_late", models.BooleanField(db_default=False, default=False)),
        migrations.AddIndex("backup", models.Index(fields=["job_id", "-created_at"], name="backups_by_job")),
        migrations.AddIndex("backup", models.Index(fields=["manifest_id"], name="backups_by_manifest")),
    ]
