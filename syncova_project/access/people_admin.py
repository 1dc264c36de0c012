"""Pages of people, their groups and what they see: what is done there stands in the audit trail too (E3).

Owns what is told of such a change: each field before and after, never a password.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import BaseModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from syncova_project import clock
from syncova_project.access.granting import lacking, may_change, of_groups
from syncova_project.access.models import ApiToken, SightLimit
from syncova_project.access.people import actor_of_person
from syncova_project.access.people_trail import what_it_had
from syncova_project.access.services import audit_record
from syncova_project.access.visibility import unknown_groups, visible_groups

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _UserAdmin = UserAdmin[User]
    _LimitAdmin = admin.ModelAdmin[SightLimit]
    _SightForm = forms.ModelForm[SightLimit]
    _Form = forms.ModelForm[Any]
else:
    _Form = object
    _ModelAdmin, _UserAdmin = object, UserAdmin
    _LimitAdmin, _SightForm = admin.ModelAdmin, forms.ModelForm

FIRST: Final = (
    "(delete this limit first: without it the members of the group see the repositories of all worker groups)"
)

BEYOND: Final = "(may more than you do, or somebody in it does: ask a superuser)"

SWITCH_OFF: Final = "(nobody deletes them; take away “Active” of the user instead: tokens and sessions end with it)"


class GivenForm(_Form):
    """Mixed in before a form of people or of groups: refuses what it would give and its `giver` lacks."""

    giver: Any = None

    def clean(self) -> Any:
        """Judge what is new alone: what somebody has already, nobody gives them."""
        cleaned = super().clean()
        for name in ("groups", "user_permissions", "permissions"):
            chosen = set(self.cleaned_data.get(name) or ()) - set(self.initial.get(name) or ())
            lack = lacking(self.giver, of_groups(chosen) if name == "groups" else chosen)
            if lack:
                self.add_error(name, f"You do not hold {', '.join(lack)} yourself. Leave it out, or ask a superuser.")
        return cleaned


class Bounded(_ModelAdmin):
    """Mixed in before a class of what somebody may more by than others: whose is beyond one's own, stays."""

    def within(self, request: HttpRequest, one: Any) -> bool:
        """Tell whether the person may change this one (access.granting); a refusal that follows says why not."""
        may = may_change(request.user, one)
        request.syncova_beyond = one is not None and not may  # type: ignore[attr-defined]
        return may

    def get_form(self, request: HttpRequest, obj: Any = None, *others: Any, **named: Any) -> Any:
        """Return Django's form, which then knows who gives."""
        form = super().get_form(request, obj, *others, **named)
        return type(form.__name__, (GivenForm, form), {"giver": request.user})

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name those of several that the person may not delete, and who may."""
        deleted, counts, lack, protected = super().get_deleted_objects(objs, request)
        told = [format_html("{} {}", one, BEYOND) for one in objs if not may_change(request.user, one)]
        return deleted, counts, set() if told else lack, [*protected, *told]


class Granted(Bounded):
    """Mixed in before Django's own class of people or of groups: who is limited changes neither (access.granting)."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tell whether the person may make any."""
        return super().has_add_permission(request) and may_change(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the person may change this one, or any; Django asks it for passwords as well."""
        return super().has_change_permission(request, obj) and self.within(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell the same of a deletion."""
        return super().has_delete_permission(request, obj) and self.within(request, obj)


class Audited(_ModelAdmin):
    """Mixed in before Django's own class; writes in the transaction of the change. `noun` is the trail's word."""

    noun = ""

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
            request.syncova_told = {"before": what_it_had(one)}  # type: ignore[attr-defined]
            self._record(request, one, "delete")
        return super().log_deletions(request, queryset)

    def changelist_view(self, request: HttpRequest, *others: Any, **named: Any) -> Any:
        """Let a deletion of several and its entries be one transaction, as Django's other pages are."""
        with transaction.atomic():
            return super().changelist_view(request, *others, **named)

    def _record(self, request: HttpRequest, obj: Model, verb: str) -> None:
        noun = self.noun or str(obj._meta.model_name)
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
class PersonAdmin(Granted, Audited, _UserAdmin):
    """People."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Let superusers alone make superusers."""
        fields = super().get_readonly_fields(request, obj)
        return fields if request.user.is_superuser else (*fields, "is_superuser")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Say of somebody's tokens, which nobody deletes, how both are switched off."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        owners = {token.user for token in ApiToken.objects.filter(user__in=objs).select_related("user")}
        told = [format_html("{} {}", f"The tokens of {owner}", SWITCH_OFF) for owner in owners]
        return deleted, counts, lacking - {ApiToken._meta.verbose_name} if told else lacking, [*protected, *told]


@admin.register(Group)
class PeopleGroupAdmin(Granted, Audited, GroupAdmin):
    """Groups of people."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Say of a limit of sight, which keeps its group from being deleted, what is to be done first."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        told = [one if str(one).endswith(BEYOND) else format_html("{} {}", one, FIRST) for one in protected]
        return deleted, counts, lacking, told


class OwnPasswordForm(AdminPasswordChangeForm):
    """The form by which everybody changes their own password, limited or not."""

    def save(self, *others: Any, **named: Any) -> Any:
        """Change it, and write the trail's entry."""
        with transaction.atomic():
            user = super().save(*others, **named)
            audit_record(
                actor=actor_of_person(user),
                action="user.change",
                subject_type="user",
                subject_id=user.get_username(),
                now=clock.now(),
                details={"password": "changed"},
            )
        return user


def own_password(request: HttpRequest) -> Any:
    """Return the page on which a person changes their own password, as Django's own does, but for the trail."""
    request.current_app = admin.site.name
    done, context = reverse("admin:password_change_done"), admin.site.each_context(request)
    return PasswordChangeView.as_view(form_class=OwnPasswordForm, success_url=done, extra_context=context)(request)


class SightForm(_SightForm):
    """Whom it limits, and to which worker groups; a superuser sees all."""

    giver: Any = None
    user = forms.ModelChoiceField(User.objects.filter(is_superuser=False), required=False)

    class Meta:
        model = SightLimit
        fields = ("user", "group", "worker_groups")

    def clean(self) -> Any:
        """Refuse to limit whom the giver may not change."""
        cleaned = super().clean()
        for name in ("user", "group"):
            one = self.cleaned_data.get(name)
            if one is not None and not may_change(self.giver, one):
                self.add_error(name, f"{one} may more than you do, or somebody in it does. Ask a superuser.")
        return cleaned

    def clean_worker_groups(self) -> list[str]:
        """Return the names as they are written everywhere, once each, in small letters; refuse what no group has."""
        names = sorted({name.strip().lower() for name in self.cleaned_data["worker_groups"]})
        unknown, known = unknown_groups(names)
        if unknown:
            raise forms.ValidationError(f"There is no worker group {', '.join(unknown)}. Known: {', '.join(known)}.")
        return names


@admin.register(SightLimit)
class SightLimitAdmin(Bounded, Audited, _LimitAdmin):
    """Whose repositories people see; for those who manage people, and are not limited themselves."""

    noun = "sight"
    form = SightForm
    list_display = ("__str__", "user", "group", "worker_groups")
    list_select_related = ("user", "group")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Tell whether the person may say what others see."""
        return visible_groups() is None and request.user.has_perm("auth.change_user")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell the same."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the person may say it of whom this limit is of, or of anybody."""
        return self.has_module_permission(request) and self.within(request, obj)

    has_add_permission = has_module_permission
    has_delete_permission = has_change_permission
