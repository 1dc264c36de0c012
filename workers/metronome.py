"""Passes at the right moment: a thread of the control worker's main process that asks for one when something is due.

Beat asks for a pass at each tick, whatever there is to do; what falls due in between would wait for the next one. Owns
noticing that, and the silence: in the hours in which the broker is stopped, full or gone, it makes passes itself, so
that due jobs are still claimed, orphans still found and every wait still explained.
"""

import datetime as dt
import logging
import threading
from typing import Final

from jobs.doorbell import request_pass
from jobs.next_due import next_due
from jobs.tick import run_pass
from syncova_project.schema.guard import require_fitting_schema
from workers.database import attempt, forget_connection

SILENT_TICKS: Final = 3
# However many instants fall due at, one pass a second is asked for at most.
LEAST_SECONDS: Final = 1.0
# A pass that begins a moment too early finds nothing due.
_SPARE_SECONDS: Final = 0.02

logger = logging.getLogger(__name__)


class Metronome:
    """Asks for passes until `stop`, when something is due; runs one itself when none was made for three ticks."""

    def __init__(self, tick_seconds: float) -> None:
        self._tick_seconds = tick_seconds
        self._asked_at: dt.datetime | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="metronome", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a pass that is running has ended."""
        self._stopping.set()
        self._thread.join(self._tick_seconds)

    def look(self) -> float:
        """Ask for a pass if something is due that none has looked at; return in how many seconds to look again.

        Raises what a database raises that is away, or that is another's (SchemaError).
        """
        seen = next_due(self._asked_at)
        silence = float("inf") if seen is None else (seen.now - seen.last_pass_at).total_seconds()
        if seen is None or silence > SILENT_TICKS * self._tick_seconds:
            logger.warning("No pass for %.0f s although beat should ask for one: it is made here", silence)
            require_fitting_schema()
            run_pass()
            return self._tick_seconds
        if seen.due_at is None:
            return self._tick_seconds
        ahead = (seen.due_at - seen.now).total_seconds()
        if ahead > 0:
            return min(ahead + _SPARE_SECONDS, self._tick_seconds)
        # All that is due by now: it is asked for once, since a control worker that is busy answers later.
        self._asked_at = seen.now
        request_pass()
        return min(LEAST_SECONDS, self._tick_seconds)

    def _watch(self) -> None:
        pause = self._tick_seconds
        while not self._stopping.wait(pause):
            pause = self._tick_seconds
            try:
                pause = attempt(self.look) or pause
            except Exception:
                # A process edge: this thread is the last that makes passes.
                logger.exception("A pass without beat failed")
            finally:
                forget_connection()
