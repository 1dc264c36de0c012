"""Rights for people, and three groups that are ready-made of them.

A group that has one of the names already keeps what it has: nobody may gain rights by an update.
"""

from typing import Any

from django.db import migrations

VIEWERS = ("jobs.read", "runs.read", "repositories.read")
OPERATORS = (*VIEWERS, "jobs.write", "jobs.run", "windows.write", "backups.read_content", "restores.run")
ALL = (
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
GROUPS = {"viewers": VIEWERS, "operators": OPERATORS, "administrators": ALL}


def make_groups(apps: Any, schema_editor: Any) -> None:
    """Make rights and groups; Django itself would make the rights only after the last migration."""
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="access", model="apitoken"
    )
    permissions = apps.get_model("auth", "Permission").objects
    rights = {
        name: permissions.get_or_create(content_type=content_type, codename=name, defaults={"name": name})[0]
        for name in ALL
    }
    for group_name, names in GROUPS.items():
        group, made = apps.get_model("auth", "Group").objects.get_or_create(name=group_name)
        if made:
            group.permissions.set(rights[name] for name in names)


class Migration(migrations.Migration):
    """People hold the rights that tokens hold."""

    dependencies = [
        ("access", "0040_more_rights"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="apitoken", options={"ordering": ["-id"], "permissions": [(name, name) for name in ALL]}
        ),
        migrations.RunPython(make_groups, migrations.RunPython.noop),
    ]
