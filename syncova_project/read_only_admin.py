"""What every admin page is built on: everything readable and searchable, nothing added, edited or deleted.

States change by services alone, so the admin offers no form for them. Who may look has the app's right to read, as in
the API, or Django's view permission, and finds the rows of those repositories that they see. Owns how foreign text is
shown on its pages: control and direction characters escaped here, markup escaped by the templates.
"""

import json
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from syncova_project.access.people import may
from syncova_project.access.scopes import Scope
from syncova_project.access.visibility import rows_seen
from syncova_project.log import single_line

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _TabularInline = admin.TabularInline[Any, Any]
else:
    # The classes take their parameter in the type checker's stubs alone.
    _ModelAdmin, _TabularInline = admin.ModelAdmin, admin.TabularInline

EMPTY = "-"
_READ: Final = {"jobs": Scope.JOBS_READ, "repositories": Scope.REPOSITORIES_READ, "access": Scope.AUDIT_READ}


class ReadByRight:
    """Lets those look who hold the app's right to read; mixed in before Django's own class."""

    opts: Any

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether the person may look at these rows."""
        right = _READ.get(self.opts.app_label)
        if right is not None and may(request.user, right):
            return True
        return bool(super().has_view_permission(request, obj))  # type: ignore[misc]

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Tell whether the person sees that there are such pages."""
        return self.has_view_permission(request)


class ReadOnlyAdmin(ReadByRight, _ModelAdmin):
    """An admin page that only shows."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows that the person sees."""
        return rows_seen(super().get_queryset(request))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is deleted here."""
        return False


class ReadOnlyInline(ReadByRight, _TabularInline):
    """Rows of another table beneath a page; they only show."""

    extra = 0
    can_delete = False
    show_change_link = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed here."""
        return False


def shown(attribute: str, title: str = "", *, order: str | None = None) -> Any:
    """Return a column that shows an attribute's text (or JSON) safely; `order` is the field it is sorted by.

    The type is Any because the stubs of `fields` know names alone, where Django takes functions too.
    """

    def column(row: Model) -> str:
        value: Any = row
        for name in attribute.split("__"):
            value = getattr(value, name, None)
        if value is None or value == "":
            return EMPTY
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        return single_line(text)

    return admin.display(description=title or attribute.replace("__", " ").replace("_", " "), ordering=order)(column)
