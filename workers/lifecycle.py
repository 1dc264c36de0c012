"""What a worker does besides its tasks: refuses a bad set-up, keeps its row, tells its children of SIGTERM.

Owns the four moments of Celery's worker that it listens to; they are Celery's signals, since nothing else is called
at them. All of it runs in the main process, which executes no run itself.
"""

import logging
from typing import Any

from celery import signals
from django.conf import settings

from syncova_project.celery import CONTROL_QUEUE, LOOKUP_PREFIX, WORK_PREFIX, app
from syncova_project.errors import SyncovaError
from syncova_project.schema.guard import require_fitting_schema_if_reachable
from workers import drain
from workers.metronome import Metronome
from workers.registration import Registrar
from workers.supervisor import configured_executor

logger = logging.getLogger(__name__)

_threads: list[Registrar | Metronome] = []


def refuse_bad_set_up(**_: Any) -> None:
    """End the worker at its start when its executor cannot be made (A5), or its database is another's (H9)."""
    try:
        require_fitting_schema_if_reachable()
        if _groups():
            configured_executor()
    except SyncovaError as error:
        # Celery logs and swallows what its receivers raise; this is what it lets through.
        raise SystemExit(f"{error.code}: {error.message} {error.hint}".rstrip()) from error


def refuse_bad_beat(**_: Any) -> None:
    """End a beat at its start that is older than the database (H9): its ticks would be as old."""
    try:
        require_fitting_schema_if_reachable()
    except SyncovaError as error:
        raise SystemExit(f"{error.code}: {error.message} {error.hint}".rstrip()) from error


def begin(sender: Any = None, **_: Any) -> None:
    """Keep the row of each group that this worker serves, and the scheduler's beat where it runs passes."""
    children = sender.controller.pool.num_processes
    for group in _groups():
        _threads.append(Registrar(group, slots=slots_of(children, lookups=_serves(LOOKUP_PREFIX + group))))
    if _serves(CONTROL_QUEUE):
        _threads.append(Metronome(settings.SYNCOVA_TICK_SECONDS))
    for thread in _threads:
        thread.start()


def drain_children(**_: Any) -> None:
    """SIGTERM: tell the supervisors (a signal handler: one byte, nothing that could wait)."""
    drain.request()


def end(**_: Any) -> None:
    """All children are done: take the row away, so that nobody counts on this worker."""
    for thread in _threads:
        thread.stop()


def slots_of(children: int, *, lookups: bool) -> int:
    """Return how many runs may be admitted here: never more than children, one of which stays free for lookups."""
    spare = 1 if lookups and children > 1 else 0
    return max(1, min(settings.SYNCOVA_WORKER_SLOTS, children - spare))


def _groups() -> list[str]:
    return [name.removeprefix(WORK_PREFIX) for name in app.amqp.queues.consume_from if name.startswith(WORK_PREFIX)]


def _serves(queue: str) -> bool:
    return queue in app.amqp.queues.consume_from


signals.celeryd_after_setup.connect(refuse_bad_set_up)
signals.beat_init.connect(refuse_bad_beat)
signals.worker_ready.connect(begin)
signals.worker_shutting_down.connect(drain_children)
signals.worker_shutdown.connect(end)
