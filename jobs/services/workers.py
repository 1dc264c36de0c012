"""Worker processes telling that they are there: slots exist only while their process says so (execution.md, 2).

Owns the rows of `worker_processes`. Called by a worker's main process, every 10 s and at its beginning and end.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from jobs.doorbell import request_pass
from jobs.models import Runner, WorkerProcess
from jobs.services.runners import group_runner
from repositories.identifiers import new_id

# Rows of processes that died without a word; by then their slots have long not been counted.
_FORGET_AFTER: Final = dt.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WorkerInput:
    """A process that takes runs: where it runs, how many at once, and below which directories sources may lie and
    restores may write (none told: what the settings of whoever asks say).

    `mark`: what proves later that it is gone.
    """

    group: str
    host: str
    process_id: int
    slots: int
    source_roots: Sequence[str] = ("/",)
    restore_roots: Sequence[str] = ()
    mark: str = ""


def worker_seen(worker: WorkerInput, *, draining: bool = False, now: dt.datetime) -> WorkerProcess:
    """Make or renew the row of a process; a draining one gives no slots. New slots ask for a pass."""
    with transaction.atomic():
        runner = group_runner(worker.group, now=now)
        row = WorkerProcess.objects.filter(runner=runner, host=worker.host, process_id=worker.process_id).first()
        known = row is not None and (row.slots, row.draining) == (worker.slots, draining)
        if row is None:
            row = WorkerProcess(id=new_id(now), runner=runner, host=worker.host, process_id=worker.process_id)
            row.started_at = now
        row.slots, row.draining, row.last_seen = worker.slots, draining, max(now, row.started_at)
        row.mark = worker.mark
        # What an operator asks of it meanwhile is not its own to write.
        row.save(update_fields=None if row._state.adding else ("slots", "draining", "last_seen", "mark"))
        if not known:
            _make_known(runner, worker, now)
    return row


def worker_drains(*, host: str, process_id: int) -> None:
    """Let a process give no slots any more; told by whoever learns first that it shuts down."""
    WorkerProcess.objects.filter(host=host, process_id=process_id).update(draining=True)


def worker_gone(*, group: str, host: str, process_id: int) -> None:
    """Forget a process that ends."""
    WorkerProcess.objects.filter(runner__name__iexact=group, host=host, process_id=process_id).delete()


def _make_known(runner: Runner, worker: WorkerInput, now: dt.datetime) -> None:
    told = {"source_roots": list(worker.source_roots), "restore_roots": list(worker.restore_roots)}
    Runner.objects.filter(id=runner.id).update(**told)
    WorkerProcess.objects.filter(runner=runner, last_seen__lt=now - _FORGET_AFTER).delete()
    request_pass()
