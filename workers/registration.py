"""The worker's row: written every ten seconds by a thread of the main process, so that admission can count on it.

Owns the thread alone; the row's rules, and what becomes of runs whose process died, are jobs'. Opens a fresh
connection each time: a worker forks children, and outlives restarts of its database.
"""

import logging
import os
import socket
import threading
from typing import Final

from django.conf import settings

from jobs.database_time import database_now
from jobs.reaper import bury
from jobs.services import WorkerInput, worker_gone, worker_seen
from syncova_project import clock
from syncova_project.schema.guard import require_fitting_schema
from workers import drain
from workers.database import attempt, forget_connection
from workers.process_marks import is_gone, own_mark, own_place

SEEN_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.5

logger = logging.getLogger(__name__)


class Registrar:
    """Keeps the row of this process for one group until `stop`."""

    def __init__(self, group: str, *, slots: int) -> None:
        self._worker = WorkerInput(
            group=group,
            host=socket.gethostname(),
            process_id=os.getpid(),
            slots=slots,
            source_roots=settings.SYNCOVA_SOURCE_ROOTS,
            restore_roots=settings.SYNCOVA_RESTORE_ROOTS,
            mark=own_mark(),
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"registrar-{group}", daemon=True)

    def start(self) -> None:
        """Register at once, then every ten seconds, and as soon as the worker drains."""
        self._thread.start()

    def stop(self) -> None:
        """End and remove the row; called when no run is left."""
        self._stopping.set()
        self._thread.join(SEEN_SECONDS)

    def _keep(self) -> None:
        told_draining, next_at = False, clock.monotonic()
        while not self._stopping.wait(_LOOK_SECONDS):
            draining = drain.requested()
            due = clock.monotonic() >= next_at or draining is not told_draining
            # A database that is away is asked again half a second later, not in ten.
            if due and self._tell(draining=draining):
                told_draining, next_at = draining, clock.monotonic() + SEEN_SECONDS
        attempt(self._leave)
        forget_connection()

    def _tell(self, *, draining: bool) -> bool:
        try:
            return bool(attempt(lambda: self._seen(draining=draining)))
        except Exception:
            # A process edge: without its thread the worker would be counted out without a word.
            logger.exception("This worker could not be registered for group %s", self._worker.group)
            return False
        finally:
            forget_connection()

    def _seen(self, *, draining: bool) -> bool:
        # Where the database was away at the start it is looked at now: who does not fit it is never counted on.
        require_fitting_schema()
        now = database_now()
        # First the dead of this machine: their runs must not count against the slots that are told next.
        ended = bury(own_place(), is_gone, now=now)
        if ended:
            logger.warning("%d runs ended whose processes on this machine are gone", ended)
        worker_seen(self._worker, draining=draining, now=now)
        return True

    def _leave(self) -> None:
        worker_gone(group=self._worker.group, host=self._worker.host, process_id=self._worker.process_id)
