"""Which worker groups' repositories a token sees; null is all."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """Tokens that are there see all, as before."""

    dependencies = [("access", "0044_login_attempts")]

    operations = [
        migrations.AddField(
            "apitoken",
            "worker_groups",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), blank=True, null=True, size=None
            ),
        ),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(
                condition=models.Q(("worker_groups__isnull", True), ("worker_groups__len__gt", 0), _connector="OR"),
                name="api_tokens_sees_a_group",
            ),
        ),
    ]
