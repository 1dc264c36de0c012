"""The right to restore, which no other right includes."""

from django.db import migrations, models

SCOPES = (
    "jobs.read",
    "jobs.write",
    "jobs.run",
    "runs.read",
    "restores.run",
    "repositories.read",
    "repositories.write",
)


class Migration(migrations.Migration):
    """The closed list of rights grows by one; tokens keep theirs."""

    dependencies = [("access", "0002_audit_append_only")]

    operations = [
        migrations.RemoveConstraint("apitoken", "api_tokens_scopes_are_known"),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(name="api_tokens_scopes_are_known", condition=models.Q(scopes__contained_by=SCOPES)),
        ),
    ]
