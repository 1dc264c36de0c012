"""The end of a run as its executor tells it: verdict, task runs and the run's row in one transaction (A11).

Owns the joining of jobs.verdict with the rows, and the freeze by what a run found damaged (G5): nothing can start
between the end that tells it and the freeze. Raises nothing for a lost lease: it returns None.
"""

import datetime as dt
import uuid

from django.db import transaction

from jobs import task_runs, transitions
from jobs.executors import Damage, ExecutionResult
from jobs.models import Run, TaskRun
from jobs.states import CancelOrigin, RunState
from jobs.verdict import Verdict, complete, decide
from repositories.freezing import repository_freeze
from repositories.models import RepositoryFreeze
from repositories.rows import locked_repository


def conclude(run_id: uuid.UUID, fence: int, result: ExecutionResult, *, now: dt.datetime) -> Verdict | None:
    """Write the end of a running run and return its verdict; None: the lease is lost and nothing was written.

    A cancel that was asked for before this transaction outweighs the result, whatever the executor saw.
    """
    with transaction.atomic():
        # The job before the run, as everywhere: the end also writes the job's last result.
        transitions.lock_job(run_id)
        if result.damage is not None:
            locked_repository(result.damage.repository_id)
        mine = Run.objects.select_for_update(no_key=True).filter(id=run_id, fence=fence, state=RunState.RUNNING)
        run = mine.first()
        if run is None:
            return None
        expected = list(TaskRun.objects.filter(run_id=run_id).order_by("position").values_list("id", flat=True))
        asked = CancelOrigin(run.cancel_origin) if run.cancel_requested_at is not None else None
        verdict = decide(result, expected, cancel=asked)
        reported = {source.task_run_id for source in result.sources}
        told = [source for source in complete(result.sources, expected) if source.task_run_id in reported]
        task_runs.record(run_id, fence, told, now=now)
        if result.damage is not None:
            _freeze(run, result.damage, now)
        transitions.finish(run_id, fence, verdict, now=now)
    return verdict


def _freeze(run: Run, damage: Damage, now: dt.datetime) -> None:
    """Freeze what is damaged, unless this run has frozen it already: by an earlier state of it, or by a swap."""
    by_this_run = RepositoryFreeze.objects.filter(repository_id=damage.repository_id, run_id=run.id)
    if by_this_run.filter(cleared_at__isnull=True).exists():
        return
    repository_freeze(repository_id=damage.repository_id, reason=damage.reason, run_id=run.id, now=now)
    transitions.froze(run.id, damage.repository_id, damage.reason, now=now)
