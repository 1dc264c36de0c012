"""Lists over long histories: pages by key in one order, no count and no offset, and only filters that have an index.

Owns Django's change list in that form, and the bound of all other lists. Cursors and orderings are
syncova_project.paging's, as in the API.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from syncova_project.paging import CursorRefusedError, Ordering, Page, PageRequest, read_page

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    # The class takes its parameter in the type checker's stubs alone.
    _Paginator = Paginator

AFTER: Final = "after"
# Rows of a list that is no history: what lies beyond is searched for.
MOST_COUNTED: Final = 10_000


class BoundedPaginator(_Paginator):
    """Pages of the first rows; nothing beyond the bound is counted or skipped."""

    @cached_property
    def count(self) -> int:
        """Return the number of rows, at most the bound."""
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        return rows.order_by().values("pk")[:MOST_COUNTED].count()


class KeysetChangeList(ChangeList):
    """A change list whose next page begins after the last row of the one before."""

    next_address: str = ""
    first_address: str = ""
    _after: str = ""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return the filtered rows; the cursor is no filter, and no link to another filter keeps it."""
        self._after = self.params.pop(AFTER, "")
        self.filter_params.pop(AFTER, None)
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: HttpRequest) -> None:
        """Read one page, and one row more to know whether there is another."""
        ordering: Ordering = self.model_admin.keyset  # type: ignore[attr-defined]
        wanted = PageRequest(ordering, dict(self.params), self._after, self.list_per_page)
        try:
            page = self.model_admin.read_list(self.queryset, self.query, wanted)  # type: ignore[attr-defined]
        except CursorRefusedError as error:
            raise IncorrectLookupParameters(str(error)) from error
        self.result_list = page.rows
        # Equal, so that no template tells a number that nobody has counted.
        self.result_count = self.full_result_count = len(page.rows)
        self.show_full_result_count, self.show_admin_actions = False, False
        self.can_show_all, self.multi_page = False, False
        self.paginator = self.model_admin.get_paginator(request, page.rows, self.list_per_page)
        self.next_address = self.get_query_string({AFTER: page.next_cursor}) if page.next_cursor else ""
        self.first_address = self.get_query_string() if self._after else ""


class HistoryList:
    """Mixed into a page of the admin: its list is a history, in the order of `keyset` and in no other.

    `lookups` are the parameters that addresses may filter by; each has an index, or a few rows behind it.
    """

    keyset: ClassVar[Ordering] = Ordering("-id", descending=True)
    lookups: ClassVar[tuple[str, ...]] = ()
    sortable_by: Any = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the change list by key."""
        return KeysetChangeList

    def read_list(self, rows: QuerySet[Any], text: str, wanted: PageRequest) -> Page[Any]:
        """Return a page of the rows; what is searched for, `get_search_results` has found."""
        return read_page(rows, wanted)

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Refuse filters that would read the whole history."""
        return lookup in self.lookups
