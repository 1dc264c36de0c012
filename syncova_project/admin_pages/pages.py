"""Pages of rows with panels and actions: what an operator sees of one thing, and may do to it.

Owns their addresses, and what their templates get. States stay out of forms: an action calls a service.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from syncova_project.access.people import may
from syncova_project.admin_pages.actions import Offered, PageAction, carry_out
from syncova_project.admin_pages.lists import BoundedPaginator
from syncova_project.admin_pages.panels import Cell, Panel
from syncova_project.read_only_admin import ReadOnlyAdmin

_NO_BULK: Final = (
    "Nothing was done: this list does nothing to several rows at once. Open each of them, and take its buttons there."
)


class PageAdmin(ReadOnlyAdmin):
    """A read-only page with `page_actions`; subclasses say its panels, and its state in one line."""

    change_list_template = "syncova/change_list.html"
    change_form_template = "syncova/page.html"
    paginator = BoundedPaginator
    show_facets = admin.ShowFacets.NEVER
    page_actions: ClassVar[Sequence[PageAction]] = ()

    class Media:
        css = {"all": ("syncova/pages.css",)}
        js = ("syncova/live.js",)

    def headline(self, obj: Any) -> Sequence[str]:
        """Return what is to be read first, as lines: the state in symbol and word, then why."""
        return ()

    def panels(self, request: HttpRequest, obj: Any) -> Sequence[Panel]:
        """Return the tables of the page, in the order in which they are read."""
        return ()

    def is_live(self, obj: Any) -> bool:
        """Tell whether the page is to be read again by itself, since something is going on."""
        return False

    def list_links(self, request: HttpRequest) -> Sequence[Cell]:
        """Return where a person may go from the list."""
        return ()

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Return the list with its links; what is sent to it does nothing, and that is said."""
        if request.method == "POST" and self.has_view_permission(request):
            messages.error(request, _NO_BULK)
            return HttpResponseRedirect(request.get_full_path())
        return super().changelist_view(request, {**(extra_context or {}), "list_links": self.list_links(request)})

    def get_urls(self) -> list[URLPattern]:
        """Return Django's addresses, and before them those of actions."""
        view = self.admin_site.admin_view(self.action_view)
        return [path("<path:object_id>/do/<slug:name>/", view, name=self._action_name), *super().get_urls()]

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Do an action to a row, or ask first; 403 without the right."""
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        action = next((one for one in self.page_actions if one.name == name), None)
        if action is None:
            raise Http404
        if not self.has_view_permission(request, obj) or not may(request.user, action.scope):
            raise PermissionDenied
        request.current_app = self.admin_site.name
        page = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": obj,
            "media": self.media,
            "page_address": page_address(obj),
        }
        return carry_out(action, request, obj, page)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Add headline, panels and the actions that this person may do now."""
        obj = kwargs.get("obj")
        if obj is not None:
            context |= {
                "headline": self.headline(obj),
                "panels": self.panels(request, obj),
                "page_actions": self.offered(request, obj),
                "is_live": self.is_live(obj),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def offered(self, request: HttpRequest, obj: Any) -> list[Offered]:
        """Return the actions that the person has the right to, and that make sense now."""
        return [
            Offered(action, reverse(f"admin:{self._action_name}", args=[quote(obj.pk), action.name]))
            for action in self.page_actions
            if may(request.user, action.scope) and action.offered(obj)
        ]

    @property
    def _action_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_do"


def page_address(obj: Any) -> str:
    """Return the address of a row's page."""
    return address_of(obj._meta.label_lower, obj.pk)


def address_of(label: str, key: Any) -> str:
    """Return the address of the page of a row (`jobs.run`) by its key alone."""
    return reverse(f"admin:{label.replace('.', '_')}_change", args=[quote(key)])


def list_address(label: str, **filters: object) -> str:
    """Return the address of a list, with filters."""
    address = reverse(f"admin:{label.replace('.', '_')}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address
