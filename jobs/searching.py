"""Searches in the list of runs: a part of a job's name, of an error's code or of its message (6.12).

Owns how the matches are found, whatever the length of history. What many runs have is soon found among the newest, what
few have by an index of parts of words. Which it is the database guesses badly (a part of every job's name took it 18 s
among 200,000 runs), so both are asked, in this order, and the first looks at a bounded number of runs.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import DateTimeField, ExpressionWrapper, F, Max, Min, Q, QuerySet, Value
from django.db.models.functions import StrIndex, Upper
from django.db.models.lookups import GreaterThan

from jobs.listing import runs_matching
from jobs.models import Run
from syncova_project.paging import Page, PageRequest, from_cursor, read_page

# How many of the newest runs are read for a name, and of the newest with an error for that.
_NAMES_READ: Final = 4000
_ERRORS_READ: Final = 2000


@dataclass(frozen=True, slots=True)
class _Search:
    """One thing to look for: among which runs, in which of their columns, and how many are read."""

    rows: QuerySet[Run]
    columns: tuple[str, ...]
    most: int


def read_runs(filters: Mapping[str, Any], wanted: PageRequest) -> Page[Run]:
    """Return a page of the runs that all filters take (serializers.RunFilter has their names)."""
    others = {name: value for name, value in filters.items() if name != "search"}
    return search_runs(runs_matching(others), filters.get("search", ""), wanted)


def search_runs(rows: QuerySet[Run], text: str, wanted: PageRequest) -> Page[Run]:
    """Return a page of those of the rows that have the text; without one, of all."""
    if not text:
        return read_page(rows, wanted)
    found = list[uuid.UUID]()
    for search in (
        _Search(rows, ("job__name",), _NAMES_READ),
        _Search(rows.exclude(error_code=""), ("error_code", "error_message"), _ERRORS_READ),
    ):
        matches = _among_newest(search, text, wanted)
        found += matches if len(matches) > wanted.limit else _by_index(search, text, wanted)
    # The first ones of each are enough: the page has no others.
    return read_page(rows.filter(id__in=found), wanted)


def _among_newest(search: _Search, text: str, wanted: PageRequest) -> list[uuid.UUID]:
    """Return the first matches among the runs after the cursor, so many of which are read and compared."""
    following = from_cursor(search.rows, wanted)
    column, descending = wanted.ordering.column, wanted.ordering.descending
    last = following.values(column)[: search.most].aggregate(at=(Min if descending else Max)(column))["at"]
    if last is None:
        return []
    # Not LIKE: an index would be taken for it, and yield matches of years before the newest are chosen from them.
    part = Upper(Value(text))
    has_it = Q(*(GreaterThan(StrIndex(Upper(one), part), 0) for one in search.columns), _connector=Q.OR)
    read = {f"{column}__gte" if descending else f"{column}__lte": last}
    return list(following.filter(has_it, **read).values_list("id", flat=True)[: wanted.limit + 1])


def _by_index(search: _Search, text: str, wanted: PageRequest) -> list[uuid.UUID]:
    """Return the first matches of all, found by part of their words and then put in order."""
    has_it = Q(*((f"{column}__icontains", text) for column in search.columns), _connector=Q.OR)
    # Of no index's order: else the database would walk through history in that order and look at each.
    moment = ExpressionWrapper(F(wanted.ordering.column) + Value(dt.timedelta(0)), output_field=DateTimeField())
    terms = (moment, F("id"))
    ordered = (term.desc() for term in terms) if wanted.ordering.descending else (term.asc() for term in terms)
    matches = from_cursor(search.rows, wanted).filter(has_it).order_by(*ordered)
    return list(matches.values_list("id", flat=True)[: wanted.limit + 1])
