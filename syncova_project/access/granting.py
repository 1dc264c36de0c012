"""Who may change which person, and give what: nobody gives a right or a sight that they lack themselves (7.8).

Owns the rules. Pages ask them before a change; what the change was, they tell the audit trail themselves.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import Q

from syncova_project.access.people import groups_of


def may_change(giver: Any, person: Any = None) -> bool:
    """Tell whether the giver may change this person, or set their password; without a person, anybody at all.

    Who sees some repositories only could else take an account that sees others, and anybody one that may more.
    """
    if giver.is_superuser:
        return True
    if groups_of(giver) is not None:
        return False
    return person is None or not (person.is_superuser or lacking(giver, _held_by(person)))


def lacking(giver: Any, permissions: Iterable[Permission]) -> list[str]:
    """Return those of the permissions that the giver does not hold, as the admin's pages and the trail name them."""
    return sorted(name for name in map(permission_name, permissions) if not giver.has_perm(name))


def of_groups(groups: Iterable[Any]) -> Iterable[Permission]:
    """Return what members of these groups hold by them."""
    return Permission.objects.filter(group__in=list(groups)).select_related("content_type").distinct()


def permission_name(permission: Permission) -> str:
    """Return `access.jobs.read` and the like."""
    return f"{permission.content_type.app_label}.{permission.codename}"


def _held_by(person: Any) -> Iterable[Permission]:
    # Not by Django's own question, to which one that is switched off holds nothing: they may be switched on again.
    held = Permission.objects.filter(Q(user=person) | Q(group__user=person))
    return held.select_related("content_type").distinct()
