"""Start deadlines: a run that could not start in time ends as failed (start_deadline), with what it waited for.

Owns the moment from which the time counts: since the run is there and its own time has come. A window and a back-off
are decisions, not lateness, and an instant that was missed while nothing ran is judged by its schedule (A13).
"""

import datetime as dt
import logging

from jobs import transitions
from jobs.executors import Failure
from jobs.job_names import told_to_group
from jobs.models import Run
from jobs.poison import POISON
from jobs.sentences import held_sentence
from jobs.states import FailureClass, RunState
from repositories.engine.display import show_duration

logger = logging.getLogger(__name__)


def expire_late(*, now: dt.datetime) -> int:
    """End the queued runs whose start deadline has passed at `now` (database time), and return how many.

    Also admitted ones that nobody has started; one that starts meanwhile goes on.
    """
    # Naming the job's presence lets the small index of active runs answer, whatever the history's length.
    bounded = Run.objects.filter(
        state=RunState.QUEUED,
        job__isnull=False,
        not_before__lt=now,
        job__start_deadline_seconds__isnull=False,
        repository__reindex_wanted_at__isnull=True,
    ).order_by("id")
    rows = bounded.values_list("id", "created_at", "not_before", "job__start_deadline_seconds")
    late = [
        run_id
        for run_id, created_at, not_before, seconds in rows
        if seconds is not None and is_late(created_at, not_before, seconds, now)
    ]
    ended = 0
    for run in Run.objects.filter(id__in=late).select_related("job", "repository", "runner").order_by("id"):
        try:
            ended += transitions.expire(run.id, _failure(run), not_before=run.not_before, now=now)
        except POISON:
            # One row that cannot be ended must not keep the others waiting.
            logger.exception("Run %s is past its start deadline and could not be ended", run.id)
    return ended


def is_late(created_at: dt.datetime, not_before: dt.datetime, seconds: int, now: dt.datetime) -> bool:
    """Tell whether a run that has not started is past its deadline. Pure."""
    return (now - max(created_at, not_before)).total_seconds() > seconds


def _failure(run: Run) -> Failure:
    seconds = run.job.start_deadline_seconds if run.job else None
    # Kept with the run, for all who see it.
    with told_to_group(run.repository.worker_group):
        why = held_sentence(run)
    told = f"The run did not start within {show_duration(seconds or 0)} of its time."
    told += f" What it was told last: {why}" if why else ""
    hint = "Raise the job's start deadline, or give what it waits for more room; the next planned run comes as planned."
    return Failure("START_DEADLINE", told, FailureClass.START_DEADLINE, hint=hint)
