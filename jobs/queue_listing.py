"""The queue as people read it: every waiting run in the order in which admission looks at them, by page (7.2).

Owns which places there are. The order is jobs.queue's; why a run waits is what the last admission wrote of it. Those
whose time has not come stand behind all others, the next one first.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from jobs.models import Run
from jobs.queue import order_key
from jobs.selectors import runs_visible
from jobs.states import RunState
from syncova_project.paging import Ordering, PageRequest, open_place, sign_place

QUEUE: Final = Ordering("queue")
_LISTED: Final = "queue"
_COLUMNS: Final = ("id", "priority", "created_at", "not_before", "repository_id", "job_id", "kind", "held_code")
_FILTERS: Final[Mapping[str, str]] = {
    "repository": "repository_id",
    "job": "job_id",
    "kind": "kind",
    "priority": "priority",
    "held": "held_code",
}
# Whether it has to wait for its time, then the place among those like it.
_Place = tuple[bool, float, int, dt.datetime, uuid.UUID]


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
    moment, after = _opened(wanted) if cursor else (now, None)
    visible = runs_visible().filter(state=RunState.QUEUED, admitted_at__isnull=True)
    placed = sorted(((_place(row, moment), row) for row in visible.order_by().values(*_COLUMNS)), key=itemgetter(0))
    chosen = [
        (position, place, row["id"])
        for position, (place, row) in enumerate(placed, start=1)
        if (after is None or place > after) and all(row[_FILTERS[name]] == value for name, value in filters.items())
    ]
    shown = chosen[:limit]
    runs = visible.in_bulk([run_id for _, _, run_id in shown])
    rows = [Placed(position, runs[run_id]) for position, _, run_id in shown if run_id in runs]
    following = _signed(wanted, moment, shown[-1][1]) if len(chosen) > limit else None
    return QueuePage(rows, len(placed), following)


def _place(row: Mapping[str, Any], now: dt.datetime) -> _Place:
    if row["not_before"] > now:
        return True, 0.0, 0, row["not_before"], row["id"]
    return False, *order_key(row["priority"], max(row["created_at"], row["not_before"]), row["id"], now)


def _signed(wanted: PageRequest, moment: dt.datetime, place: _Place) -> str:
    postponed, effective, base, since, run_id = place
    value = [moment.isoformat(), postponed, effective, base, since.isoformat()]
    return sign_place(wanted, _LISTED, value, run_id)


def _opened(wanted: PageRequest) -> tuple[dt.datetime, _Place]:
    (moment, postponed, effective, base, since), run_id = open_place(wanted, _LISTED)
    place = postponed, effective, base, dt.datetime.fromisoformat(since), run_id
    return dt.datetime.fromisoformat(moment), place
