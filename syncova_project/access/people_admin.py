"""Pages of people and their groups: Django's own, and what is done there stands in the audit trail too (E3).

Owns what is told of such a change: each field before and after, never a password.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.forms import BaseModelForm
from django.http import HttpRequest

from syncova_project import clock
from syncova_project.access.people import actor_of_person
from syncova_project.access.services import audit_record

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _UserAdmin = UserAdmin[User]
else:
    _ModelAdmin, _UserAdmin = object, UserAdmin


class Audited(_ModelAdmin):
    """Mixed in before Django's own class; writes in the transaction of the change."""

    def construct_change_message(self, request: HttpRequest, form: Any, *others: Any, **named: Any) -> Any:
        """Keep what the form changed for the entry that follows."""
        request.syncova_told = changes_of(form)  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, *others, **named)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Write that a person or a group was made."""
        self._record(request, obj, "create")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Write what was changed; a form that changed nothing makes no entry."""
        if getattr(request, "syncova_told", None):
            self._record(request, obj, "change")
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: "QuerySet[Any]") -> Any:
        """Write that people or groups were deleted, one entry each."""
        for one in queryset:
            self._record(request, one, "delete")
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, obj: Model, verb: str) -> None:
        noun = str(obj._meta.model_name)
        audit_record(
            actor=actor_of_person(request.user),
            action=f"{noun}.{verb}",
            subject_type=noun,
            subject_id=str(obj),
            now=clock.now(),
            details=getattr(request, "syncova_told", {}),
        )


def changes_of(form: "BaseModelForm[Any]") -> dict[str, object]:
    """Return each changed field before and after; of a password only that it changed."""
    told: dict[str, object] = {}
    for name in form.changed_data:
        if "password" in name:
            told["password"] = "changed"  # noqa: S105 - a word of the trail
        else:
            told[name] = {"before": _plain(form.initial.get(name)), "after": _plain(form.cleaned_data.get(name))}
    return told


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Iterable) and not isinstance(value, str):
        return sorted(str(one) for one in value)
    return str(value)


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(Audited, _UserAdmin):
    """People."""


@admin.register(Group)
class PeopleGroupAdmin(Audited, GroupAdmin):
    """Groups of people."""
