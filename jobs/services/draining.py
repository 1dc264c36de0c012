"""Draining by an operator: processes that finish what they do and take nothing new (6.5).

Owns `worker_processes.drain_requested`. It ends with the process: one that is started again takes runs.
"""

import datetime as dt
import uuid

from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.doorbell import request_pass
from jobs.errors import WorkersNotFoundError
from jobs.models import Run, WorkerProcess
from jobs.states import ACTIVE_STATES
from syncova_project.access.services import audit_record


def workers_drain(
    *, group: str | None, host: str | None, drain: bool = True, actor: str, now: dt.datetime
) -> list[WorkerProcess]:
    """Have the processes of a group, of a host, or of a group on a host take nothing new; or, undone, take runs again.

    Repeating is harmless. Raises WorkersNotFoundError where there is none: an answer would promise what nobody keeps.
    """
    with transaction.atomic():
        chosen = _chosen(group, host).select_for_update(of=("self",), no_key=True)
        rows = list(chosen.select_related("runner").order_by("runner__name", "host", "process_id"))
        if not rows:
            where = " on ".join(filter(None, (f"of the group {group}" if group else "", host)))
            raise WorkersNotFoundError(
                f"There is no worker {where}.".replace("  ", " "),
                hint="See who is there with: ./syncova manage drain --list",
            )
        for row in rows:
            row.drain_requested = drain
            WorkerProcess.objects.filter(id=row.id).update(drain_requested=drain)
            audit_record(
                actor=actor,
                action="worker.drain" if drain else "worker.undrain",
                subject_type="worker",
                subject_id=row.id,
                now=now,
                details={"group": row.runner.name, "host": row.host, "process_id": row.process_id},
            )
        request_pass()
    return rows


def runs_left(*, group: str | None, host: str | None) -> int:
    """Return how many runs the chosen processes have not ended; those of hosts that are gone count until reaped."""
    hosts = _chosen(group, host).values_list("runner_id", "host")
    mine = Q(pk__isnull=True)
    for runner_id, name in set(hosts):
        mine |= Q(runner_id=runner_id, worker__startswith=f"{name}:")
    return Run.objects.filter(mine, state__in=ACTIVE_STATES, started_at__isnull=False).count()


def elsewhere(*, run_id: uuid.UUID, host: str, process_id: int) -> str | None:
    """Return the group to ring for a run that this process is not to start, since it is drained; None: it may."""
    mine = WorkerProcess.objects.filter(host=host, process_id=process_id, drain_requested=True)
    return mine.filter(runner__runs__id=run_id).values_list("runner__name", flat=True).first()


def _chosen(group: str | None, host: str | None) -> QuerySet[WorkerProcess]:
    chosen = WorkerProcess.objects.all()
    if group is not None:
        chosen = chosen.filter(runner__name__iexact=group)
    return chosen if host is None else chosen.filter(host=host)
