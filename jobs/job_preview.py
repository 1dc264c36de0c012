"""When a saved job is due next, for the API and for its page: its plans, the windows now, and the run that waits (B6).

Owns the reading; writes nothing. What instants come to is jobs.previews'.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

from jobs import windows
from jobs.models import Job, Run
from jobs.objectives import plans_of, rules_of
from jobs.previews import Waiting, preview_rows
from jobs.states import RunState
from jobs.window_rows import current_rules

# A run that windows hold for longer than a claim looks ahead waits all the same; objectives look as far.
_REACH: Final = dt.timedelta(days=400)


def job_preview(job: Job, *, start: dt.datetime, count: int, now: dt.datetime) -> list[dict[str, Any]]:
    """Return the next planned instants of a job after `start`, as windows and its waiting run are at `now`."""
    rules = rules_of(job, current_rules())
    waiting = waiting_run(job, rules, start=start, now=now)
    return preview_rows(plans_of(job), rules, start=start, count=count, waiting=waiting)


def waiting_run(job: Job, rules: Sequence[windows.Rule], *, start: dt.datetime, now: dt.datetime) -> Waiting | None:
    """Return the run of a job that waits, if it was planned up to `start`, and until when back-off or windows hold it.

    Anything else that it waits for may be gone at any moment, and counts as gone.
    """
    kept = Run.objects.filter(job=job, state=RunState.QUEUED, admitted_at__isnull=True, scheduled_for__lte=start)
    run = kept.only("scheduled_for", "not_before", "ignore_windows").first()
    if run is None:
        return None
    moment = max(run.not_before, now)
    until = moment if run.ignore_windows else windows.next_free(rules, moment, _REACH).instant
    return None if until is None else Waiting(run.scheduled_for, until)
