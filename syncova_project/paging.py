"""Pages by key: a cursor is the signed place after the last row of a page, never an offset.

Owns the form of cursors and of orderings. An ordering is one column and the id, so that each is one index; a cursor
made for another list, another ordering or other filters is refused.
"""

import datetime as dt
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from syncova_project.errors import ValidationFailedError

SALT = "syncova.cursor.1"
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
Filters = Mapping[str, object]
Row = TypeVar("Row", bound=Model)


class CursorRefusedError(ValidationFailedError):
    """The cursor was not made by this server for this list."""

    code: ClassVar[str] = "CURSOR_REFUSED"


@dataclass(frozen=True, slots=True)
class Ordering:
    """One order of a list: by `column` (or by id alone when empty), then by id; both in the same direction.

    `column` has to be an attribute of each row and never null; ids are time-ordered, so ordering by id is by creation.
    """

    name: str
    column: str = ""
    descending: bool = False

    def terms(self) -> list[str]:
        """Return the terms for `order_by`."""
        sign = "-" if self.descending else ""
        return [f"{sign}{column}" for column in (self.column, "id") if column]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is wanted: its order, the filters in force, the cursor of the page before (or "") and its size."""

    ordering: Ordering
    filters: Filters
    cursor: str = ""
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """One page of rows, and the cursor of the next one (None at the end)."""

    rows: list[Row]
    next_cursor: str | None


def read_page(rows: QuerySet[Row], wanted: PageRequest) -> Page[Row]:
    """Return the wanted page; reads one row more than it shows to know whether there is a next one."""
    found = list(from_cursor(rows, wanted)[: wanted.limit + 1])
    shown = found[: wanted.limit]
    more = len(found) > wanted.limit
    return Page(shown, _cursor_after(shown[-1], wanted, rows.model._meta.db_table) if more else None)


def from_cursor(rows: QuerySet[Row], wanted: PageRequest) -> QuerySet[Row]:
    """Return all rows after the cursor's place, in the wanted order; raises CursorRefusedError."""
    ordered = rows.order_by(*wanted.ordering.terms())
    return ordered.filter(_after(wanted, rows.model._meta.db_table)) if wanted.cursor else ordered


def sign_place(wanted: PageRequest, listed: str, value: object, row_id: object) -> str:
    """Return the cursor of the place after a row; `listed` names the list, `value` is JSON or a moment."""
    return signing.dumps([_fingerprint(wanted, listed), _written(value), str(row_id)], salt=SALT, compress=True)


def open_place(wanted: PageRequest, listed: str) -> tuple[Any, Any]:
    """Return value and id of the place that the cursor names; raises CursorRefusedError for any other list's."""
    refusal = CursorRefusedError(
        "The cursor does not belong to this list.",
        hint="Take next_cursor from the page before, with the same filters and ordering.",
        details={"cursor": ["Not a cursor of this list."]},
    )
    try:
        fingerprint, value, row_id = signing.loads(wanted.cursor, salt=SALT)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise refusal from error
    if fingerprint != _fingerprint(wanted, listed):
        raise refusal
    # Rows with an address have a UUID, rows of history a number.
    return _read(value), int(row_id) if row_id.isdigit() else uuid.UUID(row_id)


def _after(wanted: PageRequest, listed: str) -> Q:
    column_value, row_id = open_place(wanted, listed)
    direction = "lt" if wanted.ordering.descending else "gt"
    later_id = Q(**{f"id__{direction}": row_id})
    column = wanted.ordering.column
    if not column:
        return later_id
    # The first bound follows from the second; PostgreSQL needs it to begin at the place instead of at the index's end.
    bound = Q(**{f"{column}__{direction}e": column_value})
    return bound & (Q(**{f"{column}__{direction}": column_value}) | later_id)


def _cursor_after(row: Model, wanted: PageRequest, listed: str) -> str:
    column = wanted.ordering.column
    return sign_place(wanted, listed, getattr(row, column) if column else None, row.pk)


def _fingerprint(wanted: PageRequest, listed: str) -> str:
    filters = {name: str(value) for name, value in wanted.filters.items() if value is not None}
    text = json.dumps([listed, wanted.ordering.name, filters], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _written(value: object) -> object:
    return {"at": value.isoformat()} if isinstance(value, dt.datetime) else value


def _read(value: Any) -> Any:
    return dt.datetime.fromisoformat(value["at"]) if isinstance(value, dict) else value
