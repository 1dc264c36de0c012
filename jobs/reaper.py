"""The reaper (A15): running runs without a sign of life end as failed (transient), so that the retry policy applies.

Owns who counts as silent. Needs no restart and no memory: each pass asks the rows.
"""

import datetime as dt
import logging
import uuid

from django.conf import settings

from jobs import transitions
from jobs.models import Run
from jobs.poison import POISON
from jobs.states import RunState

logger = logging.getLogger(__name__)


def reap(*, now: dt.datetime, observed_since: dt.datetime) -> int:
    """End orphaned runs and return how many.

    Orphaned means greatest(heartbeat, observed_since) < now - limit: while no pass ran (the database was away, the
    scheduler was stopped), nobody could tell a silent run from an unheard one.
    """
    silent_since = now - dt.timedelta(seconds=settings.SYNCOVA_ORPHAN_SECONDS)
    if observed_since >= silent_since:
        return 0
    silent = Run.objects.filter(state=RunState.RUNNING, heartbeat_at__lt=silent_since).order_by("heartbeat_at")
    rows = list(silent.values_list("id", "fence"))
    return sum(_end(run_id, fence, silent_since, now) for run_id, fence in rows if fence is not None)


def _end(run_id: uuid.UUID, fence: int, silent_since: dt.datetime, now: dt.datetime) -> bool:
    try:
        return transitions.orphan(run_id, fence, silent_since, now=now)
    except POISON:
        # One row that cannot be ended must not keep the others running for ever.
        logger.exception("The orphaned run %s could not be ended", run_id)
        return False
