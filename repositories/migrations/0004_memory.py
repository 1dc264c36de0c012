"""What workers have seen of a repository, so that an earlier state of it is known."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """No rows yet: the next run of each repository writes its own."""

    dependencies = [("repositories", "0003_trouble")]

    operations = [
        migrations.CreateModel(
            name="RepositoryMemory",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="memory",
                        serialize=False,
                        to="repositories.repository",
                    ),
                ),
                ("state", models.JSONField()),
                ("seen_at", models.DateTimeField()),
                ("is_contradicted", models.BooleanField(default=False)),
            ],
            options={"db_table": "repository_memories", "verbose_name_plural": "repository memories"},
        ),
    ]
