"""The reaper (A15): running runs without a sign of life end as failed (transient), so that the retry policy applies.

Owns who counts as silent, and what follows from the proof that a process is gone. Needs no restart and no memory:
each pass asks the rows.
"""

import datetime as dt
import logging
import uuid
from collections.abc import Callable
from functools import partial

from django.conf import settings

from jobs import transitions
from jobs.models import Run, WorkerProcess
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
    silent = Run.objects.filter(
        # What became of runs in a restored dump is for the indexing of their repository to say.
        repository__reindex_wanted_at__isnull=True,
        state=RunState.RUNNING,
        heartbeat_at__lt=silent_since,
    ).order_by("heartbeat_at")
    rows = list(silent.values_list("id", "fence"))
    return sum(
        _ended(run_id, partial(transitions.orphan, run_id, fence, silent_since, now=now))
        for run_id, fence in rows
        if fence is not None
    )


def bury(place: str, is_gone: Callable[[str], bool], *, now: dt.datetime) -> int:
    """End at once the runs of processes that are proved to be gone, forget their workers; return how many runs ended.

    `place`: how the marks begin that the caller can judge, "" for none; every other run is left to `reap`.
    """
    if not place:
        return 0
    workers = WorkerProcess.objects.filter(mark__startswith=place).values_list("id", "mark")
    WorkerProcess.objects.filter(id__in=[worker_id for worker_id, mark in workers if is_gone(mark)]).delete()
    marked = Run.objects.filter(state=RunState.RUNNING, worker_mark__startswith=place).order_by("id")
    rows = list(marked.values_list("id", "fence", "worker_mark"))
    return sum(
        _ended(run_id, partial(transitions.worker_died, run_id, fence, mark, now=now))
        for run_id, fence, mark in rows
        if fence is not None and is_gone(mark)
    )


def _ended(run_id: uuid.UUID, end: Callable[[], bool]) -> bool:
    try:
        return end()
    except POISON:
        # One row that cannot be ended must not keep the others running for ever.
        logger.exception("The orphaned run %s could not be ended", run_id)
        return False
