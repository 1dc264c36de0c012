"""People: which rights a person holds, whose repositories they see, and what the audit trail calls one.

Owns the way from Django's users, groups and permissions to our rights. Decides nothing by them.
"""

from typing import Any, Final

from django.db.models import Q

from syncova_project.access.models import SightLimit
from syncova_project.access.scopes import Scope
from syncova_project.access.visibility import Groups

# Permissions of people are named by the app that owns them.
_OWNER: Final = "access."


def rights_of(user: Any) -> frozenset[Scope]:
    """Return the rights of a user of Django, by their own permissions and those of their groups; all of a superuser."""
    if not user.is_active:
        return frozenset()
    if user.is_superuser:
        return frozenset(Scope)
    held = user.get_all_permissions()
    return frozenset(scope for scope in Scope if _OWNER + scope in held)


def groups_of(user: Any) -> Groups:
    """Return the worker groups whose repositories a user of Django sees: all of a superuser, and of whom none limits.

    Several limits, a person's own and those of their groups, add up.
    """
    if user.is_superuser:
        return None
    limits = SightLimit.objects.filter(Q(user_id=user.pk) | Q(group__user=user.pk))
    named = list(limits.values_list("worker_groups", flat=True))
    return frozenset(name for names in named for name in names) if named else None


def may(user: Any, scope: Scope) -> bool:
    """Tell whether a user of Django, perhaps an anonymous one, holds the right."""
    return bool(user.has_perm(_OWNER + scope))


def actor_of_person(user: Any) -> str:
    """Return what the audit trail calls this user."""
    return f"user:{user.get_username()}"
