"""The queue as people read it: every waiting run in the order in which admission looks at them, by page (7.2).

Owns which places there are. The order is jobs.queue's; why a run waits is what the last admission wrote of it. Those
whose time has not come stand behind all others, the next one first.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from jobs.models import Run
from jobs.queue import ORDER_KEYS_SQL
from jobs.selectors import runs_visible
from jobs.states import RunState
from syncova_project.paging import Ordering, PageRequest, open_place, sign_place

QUEUE: Final = Ordering("queue")
_LISTED: Final = "queue"
_FILTERS: Final[Mapping[str, str]] = {
    "repository": "repository_id",
    "job": "job_id",
    "kind": "kind",
    "priority": "priority",
    "held": "held_code",
}
_COLUMNS: Final = ("id", "priority", "created_at", "not_before", "repository_id", "job_id", "kind", "held_code")
_KEYS: Final[Mapping[str, str]] = dict(
    zip(
        ("postponed_to", "points", "base", "since", "id"),
        ("CASE WHEN runs.not_before > %(now)s THEN runs.not_before ELSE '-infinity' END", *ORDER_KEYS_SQL),
        strict=True,
    )
)
# The keys of each run are computed once, before they are compared many times. The last run of the page before may have
# left the queue: a mark stands where it stood.
_KEYED: Final = """
WITH waiting AS MATERIALIZED (
    SELECT {keys}, {chosen} AS is_chosen FROM ({seen}) AS runs ({columns})
), mark AS (
    SELECT {keys} FROM (
        SELECT %(id)s::uuid, %(priority)s::text, %(created_at)s::timestamptz, %(not_before)s::timestamptz
        WHERE %(id)s::uuid IS NOT NULL
    ) AS runs (id, priority, created_at, not_before)
)"""
# Of the whole queue the page alone is put in order; what is before and behind it is counted.
_NEXT: Final = """
SELECT id, ahead.runs + row_number() OVER (ORDER BY {order}) AS position, (SELECT count(*) FROM waiting)
FROM (
    SELECT waiting.* FROM waiting LEFT JOIN mark ON true WHERE mark.id IS NULL OR ({waiting}) > ({mark})
    ORDER BY {waiting} LIMIT %(most)s
) AS page, (SELECT count(*) AS runs FROM waiting JOIN mark ON ({waiting}) <= ({mark})) AS ahead
ORDER BY position
"""
_CHOSEN: Final = """
SELECT waiting.id, position, (SELECT count(*) FROM waiting)
FROM (SELECT *, row_number() OVER (ORDER BY {order}) AS position FROM waiting) AS waiting LEFT JOIN mark ON true
WHERE is_chosen AND (mark.id IS NULL OR ({waiting}) > ({mark})) ORDER BY position LIMIT %(most)s
"""
_NAMES: Final[Mapping[str, str]] = {
    "keys": ", ".join(f"{key} AS {name}" for name, key in _KEYS.items()),
    "order": ", ".join(_KEYS),
    "waiting": ", ".join(f"waiting.{name}" for name in _KEYS),
    "mark": ", ".join(f"mark.{name}" for name in _KEYS),
    "columns": ", ".join(_COLUMNS),
}
_NOBODY: Final = dict.fromkeys(("id", "priority", "created_at", "not_before"))


@dataclass(frozen=True, slots=True)
class Placed:
    """A waiting run and its place in the whole queue, whatever the filters are; the first is 1."""

    position: int
    run: Run


@dataclass(frozen=True, slots=True)
class QueuePage:
    """One page of the queue, how many wait in all, and the cursor of the next page (None at the end)."""

    rows: list[Placed]
    waiting: int
    next_cursor: str | None


def queue_page(filters: Mapping[str, Any], cursor: str, limit: int, *, now: dt.datetime) -> QueuePage:
    """Return a page of the queue (serializers.QueueFilter has the filters' names); raises CursorRefusedError.

    Waiting runs rise with time; all pages after the first show the order of the moment at which the first was read.
    """
    wanted = PageRequest(QUEUE, filters, cursor, limit)
    moment, last = _opened(wanted) if cursor else (now, _NOBODY)
    visible = runs_visible().filter(state=RunState.QUEUED, admitted_at__isnull=True)
    found = _placed(visible, filters, {**last, "now": moment, "most": limit + 1})
    waiting = found[0][2] if found else visible.count()
    shown = found[:limit]
    runs = visible.order_by().in_bulk([run_id for run_id, _, _ in shown])
    rows = [Placed(position, runs[run_id]) for run_id, position, _ in shown if run_id in runs]
    following = _signed(wanted, moment, rows[-1].run) if rows and len(found) > limit else None
    return QueuePage(rows, waiting, following)


def _placed(visible: Any, filters: Mapping[str, Any], told: Mapping[str, Any]) -> list[tuple[Any, int, int]]:
    """Return id, place and the queue's length of the chosen runs, in order."""
    asked = {f"filter_{name}": value for name, value in filters.items()}
    chosen = " AND ".join(f"runs.{_FILTERS[name]} = %(filter_{name})s" for name in filters)
    with connection.cursor() as cursor:
        seen = cursor.mogrify(*visible.order_by().values_list(*_COLUMNS).query.sql_with_params()).decode()
        told_names = {**_NAMES, "seen": seen.replace("%", "%%"), "chosen": chosen or "true"}
        statement = (_KEYED + (_CHOSEN if filters else _NEXT)).format(**told_names)
        cursor.execute(statement, {**told, **asked})
        return list(cursor.fetchall())


def _signed(wanted: PageRequest, moment: dt.datetime, last: Run) -> str:
    value = [moment.isoformat(), last.priority, last.created_at.isoformat(), last.not_before.isoformat()]
    return sign_place(wanted, _LISTED, value, last.pk)


def _opened(wanted: PageRequest) -> tuple[dt.datetime, dict[str, Any]]:
    (moment, priority, created_at, not_before), run_id = open_place(wanted, _LISTED)
    last = {"id": run_id, "priority": priority, "created_at": created_at, "not_before": not_before}
    return dt.datetime.fromisoformat(moment), last
