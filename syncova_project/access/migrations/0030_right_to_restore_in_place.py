"""The right to restore over what is there: in place, and with deletion. Who may restore does not have it by that."""

from django.db import migrations, models

SCOPES = (
    "jobs.read",
    "jobs.write",
    "jobs.run",
    "runs.read",
    "runs.ignore_windows",
    "restores.run",
    "restores.in_place",
    "repositories.read",
    "repositories.write",
)


class Migration(migrations.Migration):
    """The closed list of rights grows by one; tokens keep theirs."""

    dependencies = [("access", "0021_right_to_ignore_windows")]

    operations = [
        migrations.RemoveConstraint("apitoken", "api_tokens_scopes_are_known"),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(name="api_tokens_scopes_are_known", condition=models.Q(scopes__contained_by=SCOPES)),
        ),
    ]
