"""When the next thing falls due that no pass has looked at: an instant of a schedule or an upkeep plan, a run's time.

Owns one question, which three indexes answer with a row each, however many schedules there are. What is due is judged
by the pass alone: an instant of a paused job, or of a run that is held, costs a pass that finds nothing.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from django.db import connection

_ASK: Final = """
WITH asked AS MATERIALIZED (
    SELECT clock_timestamp() AS now, last_pass_at, greatest(last_pass_at, %(after)s::timestamptz) AS since
    FROM scheduler_state
)
SELECT now, last_pass_at, least(
    (SELECT min(next_at) FROM schedules
     WHERE next_at > asked.since AND state = 'active' AND deleted_at IS NULL),
    (SELECT min(next_at) FROM upkeep_plans WHERE next_at > asked.since AND flag = ''),
    (SELECT min(not_before) FROM runs
     WHERE not_before > asked.since AND state = 'queued' AND admitted_at IS NULL)
) FROM asked
"""


@dataclass(frozen=True, slots=True)
class NextDue:
    """The database's time, when the last pass began, and what falls due after that (None: nothing is planned)."""

    now: dt.datetime
    last_pass_at: dt.datetime
    due_at: dt.datetime | None


def next_due(after: dt.datetime | None = None) -> NextDue | None:
    """Return what falls due after the last pass began, and after `after`; None while there has been no pass at all.

    `due_at` may have passed by: then no pass has begun since.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ASK, {"after": after})
        row = cursor.fetchone()
    if row is None or row[1] is None:
        return None
    now, last_pass_at, due_at = row
    return NextDue(now.astimezone(dt.UTC), last_pass_at.astimezone(dt.UTC), due_at and due_at.astimezone(dt.UTC))
