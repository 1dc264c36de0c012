"""Whether a pass is due, by one statement in database time (execution.md, section 2, step 1).

Owns the scheduler's row. A backlog of ticks costs one query each, and a wish for a pass is never lost: wishes are
counted in a sequence, so that the next tick sees what a lost message would have said.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection

_BEGIN: Final = """
WITH moment AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, clock_timestamp()) AS at,
           (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM pass_requests) AS wanted
)
INSERT INTO scheduler_state AS state (id, last_pass_at, observed_since, requests_seen)
SELECT 1, at, at, wanted FROM moment
ON CONFLICT (id) DO UPDATE SET
    last_pass_at = excluded.last_pass_at,
    requests_seen = excluded.requests_seen,
    observed_since = CASE
        WHEN state.observed_since IS NULL OR state.last_pass_at IS NULL
          OR state.last_pass_at < excluded.last_pass_at - %(gap)s
          OR state.last_pass_at > excluded.last_pass_at
        THEN excluded.last_pass_at ELSE state.observed_since END
WHERE state.last_pass_at IS NULL
   OR state.last_pass_at <= excluded.last_pass_at - %(distance)s
   OR state.last_pass_at > excluded.last_pass_at
   OR state.requests_seen < excluded.requests_seen
RETURNING last_pass_at, observed_since
"""


@dataclass(frozen=True, slots=True)
class PassStart:
    """A pass that may go on: its time, and since when the silence of runs counts."""

    now: dt.datetime
    observed_since: dt.datetime


def begin_pass(now: dt.datetime | None = None) -> PassStart | None:
    """Begin a pass, or return None when one has begun a moment ago and nobody has asked for another since.

    Silence counts only while it is observed: after a gap in passes, or a step of the clock, it is counted anew.
    """
    values: dict[str, Any] = {
        "now": now,
        "gap": dt.timedelta(seconds=2 * settings.SYNCOVA_HEARTBEAT_SECONDS),
        "distance": dt.timedelta(seconds=settings.SYNCOVA_TICK_SECONDS / 2),
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, values)
        row = cursor.fetchone()
    return None if row is None else PassStart(row[0].astimezone(dt.UTC), row[1].astimezone(dt.UTC))


def pass_wanted() -> bool:
    """Tell whether somebody asked for a pass since the last one began."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT requests_seen < (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM pass_requests)"
            " FROM scheduler_state"
        )
        row = cursor.fetchone()
    return row is not None and bool(row[0])
