"""Below which directories the processes of a runner restore; null while none has said so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """One nullable column, which processes that do not know it leave alone."""

    dependencies = [("jobs", "0010_dependencies_and_breakers")]

    operations = [migrations.AddField("runner", "restore_roots", models.JSONField(blank=True, null=True))]
