"""What the audit trail says of people and their groups that go: all that they had, since nothing else keeps it (E3).

Owns the form; never a password.
"""

from typing import Any

from django.contrib.auth.models import Group, User

from syncova_project.access.granting import permission_name
from syncova_project.access.models import SightLimit


def what_it_had(one: Any) -> dict[str, object]:
    """Return what a person, a group of people or a limit of sight gave and took, as long as the row is there."""
    if isinstance(one, User):
        return {
            **{name: getattr(one, name) for name in ("is_active", "is_staff", "is_superuser")},
            "groups": sorted(one.groups.values_list("name", flat=True)),
            "rights": _rights(one.user_permissions),
            "worker_groups": SightLimit.objects.filter(user=one).values_list("worker_groups", flat=True).first(),
        }
    if isinstance(one, Group):
        people = User.objects.filter(groups=one)
        return {"rights": _rights(one.permissions), "people": sorted(people.values_list("username", flat=True))}
    if isinstance(one, SightLimit):
        told = {"user": one.user and one.user.get_username(), "group": one.group and one.group.name}
        return {**told, "worker_groups": one.worker_groups}
    return {}


def _rights(permissions: Any) -> list[str]:
    return sorted(permission_name(right) for right in permissions.select_related("content_type"))
