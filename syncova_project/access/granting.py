"""Who may change which person, and give what: nobody gives a right or a sight that they lack themselves (7.8).

Owns the rules. Pages ask them before a change; what the change was, they tell the audit trail themselves.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q, QuerySet

from syncova_project.access.models import SightLimit
from syncova_project.access.people import groups_of


def may_change(giver: Any, one: Any = None) -> bool:
    """Tell whether the giver may change this person, group of people or limit of sight; without one, any at all.

    Who sees some repositories only could else take an account that sees others, and anybody one that may more, or take
    rights and sight away from it by its group.
    """
    if giver.is_superuser:
        return True
    if groups_of(giver) is not None:
        return False
    return one is None or not _may_more(one, giver)


def lacking(giver: Any, permissions: Iterable[Permission]) -> list[str]:
    """Return those of the permissions that the giver does not hold, as the admin's pages and the trail name them."""
    return sorted(name for name in map(permission_name, permissions) if not giver.has_perm(name))


def of_groups(groups: Iterable[Any]) -> Iterable[Permission]:
    """Return what members of these groups hold by them."""
    return Permission.objects.filter(group__in=list(groups)).select_related("content_type").distinct()


def permission_name(permission: Permission) -> str:
    """Return `access.jobs.read` and the like."""
    return f"{permission.content_type.app_label}.{permission.codename}"


def _may_more(one: Any, giver: Any) -> bool:
    """Tell it of a person, of a group or anybody in it, and of whom a limit is of."""
    if isinstance(one, SightLimit):
        one = one.user or one.group
    if isinstance(one, Group):
        people = User.objects.filter(groups=one)
        return people.filter(is_superuser=True).exists() or bool(lacking(giver, _held_by(people, one)))
    return one.is_superuser or bool(lacking(giver, _held_by(User.objects.filter(pk=one.pk))))


def _held_by(people: QuerySet[User], group: Group | None = None) -> Iterable[Permission]:
    # Not by Django's own question, to which one that is switched off holds nothing: they may be switched on again.
    groups = Group.objects.filter(Q(user__in=people) | Q(pk=group and group.pk))
    held = Permission.objects.filter(Q(user__in=people) | Q(group__in=groups))
    return held.select_related("content_type").distinct()
