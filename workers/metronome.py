"""Passes without a broker: a thread of the control worker's main process that steps in when none was made for long.

Owns noticing the silence. Beat and its messages stay the way passes are made; this is for the hours in which the
broker is stopped, full or gone: due jobs are still claimed, orphans still found and every wait still explained.
"""

import logging
import threading
from typing import Final

from jobs.database_time import database_now
from jobs.models import SchedulerState
from jobs.tick import run_pass
from syncova_project.schema.guard import require_fitting_schema
from workers.database import attempt, forget_connection

SILENT_TICKS: Final = 3

logger = logging.getLogger(__name__)


class Metronome:
    """Watches for passes until `stop`; runs one itself when none was made for three ticks."""

    def __init__(self, tick_seconds: float) -> None:
        self._tick_seconds = tick_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="metronome", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a pass that is running has ended."""
        self._stopping.set()
        self._thread.join(self._tick_seconds)

    def _watch(self) -> None:
        while not self._stopping.wait(self._tick_seconds):
            try:
                attempt(self._look)
            except Exception:
                # A process edge: this thread is the last that makes passes.
                logger.exception("A pass without beat failed")
            finally:
                forget_connection()

    def _look(self) -> None:
        silence = seconds_without_pass()
        if silence > SILENT_TICKS * self._tick_seconds:
            logger.warning("No pass for %.0f s although beat should ask for one: it is made here", silence)
            require_fitting_schema()
            run_pass()


def seconds_without_pass() -> float:
    """Return for how long no pass has begun, by the database's time; a database without any pass counts as silent."""
    last = SchedulerState.objects.values_list("last_pass_at", flat=True).first()
    return float("inf") if last is None else (database_now() - last).total_seconds()
