"""Counts of failed logins."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Keys are digests of names and addresses."""

    dependencies = [("access", "0043_own_tokens")]

    operations = [
        migrations.CreateModel(
            name="LoginAttempt",
            fields=[
                ("key", models.TextField(primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField()),
                ("until", models.DateTimeField()),
            ],
            options={
                "db_table": "login_attempts",
                "indexes": [models.Index(fields=["until"], name="login_attempts_by_end")],
            },
        ),
    ]
