"""What proves to the same boot of a machine that a worker's process is gone, on runs and on worker processes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Two texts, empty for rows that were written before."""

    dependencies = [("jobs", "0002_guards")]

    operations = [
        migrations.AddField("run", "worker_mark", models.TextField(blank=True, default="")),
        migrations.AddField("workerprocess", "mark", models.TextField(blank=True, default="")),
    ]
