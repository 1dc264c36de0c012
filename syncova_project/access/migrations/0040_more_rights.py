"""Rights of their own to windows, to the content of backups and to the audit trail.

Who may change jobs could change windows until now: such tokens keep that.
"""

from django.db import migrations, models

SCOPES = (
    "jobs.read",
    "jobs.write",
    "jobs.run",
    "runs.read",
    "runs.ignore_windows",
    "windows.write",
    "backups.read_content",
    "restores.run",
    "restores.in_place",
    "repositories.read",
    "repositories.write",
    "audit.read",
)
KEEP_WINDOWS = """
UPDATE api_tokens SET scopes = array_append(scopes, 'windows.write') WHERE 'jobs.write' = ANY (scopes)
"""
FORGET_NEW = """
UPDATE api_tokens
SET scopes = array_remove(array_remove(array_remove(scopes, 'windows.write'), 'backups.read_content'), 'audit.read')
WHERE scopes && ARRAY['jobs.read', 'jobs.write', 'jobs.run', 'runs.read', 'runs.ignore_windows', 'restores.run',
                      'restores.in_place', 'repositories.read', 'repositories.write'];
DELETE FROM api_tokens WHERE scopes && ARRAY['windows.write', 'backups.read_content', 'audit.read'];
"""


class Migration(migrations.Migration):
    """The closed list of rights grows by three."""

    dependencies = [("access", "0030_right_to_restore_in_place")]

    operations = [
        migrations.RemoveConstraint("apitoken", "api_tokens_scopes_are_known"),
        migrations.RunSQL(KEEP_WINDOWS, FORGET_NEW),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(name="api_tokens_scopes_are_known", condition=models.Q(scopes__contained_by=SCOPES)),
        ),
    ]
