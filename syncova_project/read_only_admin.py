"""What every admin page is built on: everything readable and searchable, nothing added, edited or deleted.

States change by services alone, so the admin offers no form for them. Owns how foreign text is shown on its pages:
control and direction characters escaped here, markup escaped by the templates.
"""

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from syncova_project.log import single_line

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
    _TabularInline = admin.TabularInline[Any, Any]
else:
    # The classes take their parameter in the type checker's stubs alone.
    _ModelAdmin, _TabularInline = admin.ModelAdmin, admin.TabularInline

EMPTY = "-"


class ReadOnlyAdmin(_ModelAdmin):
    """An admin page that only shows; who may look is decided by Django's view permission."""

    actions = None
    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is deleted here."""
        return False


class ReadOnlyInline(_TabularInline):
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
