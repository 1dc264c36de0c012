"""Follows one engine child from its first event to its certain end: hands on events, stops it, kills it.

Owns the order "asked to stop, then killed, then gone". Knows neither rows nor what an operation does, and talks to
nothing that can hang: a supervisor's database has a thread of its own.
"""

import logging
import signal
from collections.abc import Callable

from jobs.executors import ExecutionControl
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ErrorInfo, Event, Failed, Finished
from syncova_project import clock
from workers.outcome import clean

# A cancel is seen within 5 s and the engine gone within 30 s (execution.md, section 3); the rest is for the records.
GRACE_SECONDS = 18.0
LOOK_SECONDS = 0.25
_KILL_EVERY_SECONDS = 5.0
_LAST_WORDS = 8000

logger = logging.getLogger(__name__)

Handle = Callable[[Event], None]
Stop = Callable[[], bool]


def follow(
    process: EngineProcess, *, handle: Handle, stop: Stop, grace_seconds: float | None = None
) -> Finished | Failed:
    """Hand every event to `handle` and return the last one (Finished or Failed) once the child is gone.

    When `stop` says so the child is asked to cancel, and killed after `grace_seconds`. Returns only when the process
    is really gone: what is written afterwards about its end is true.
    """
    grace = GRACE_SECONDS if grace_seconds is None else grace_seconds
    asked_at: float | None = None
    last: Event | None = None
    for event in process.events(LOOK_SECONDS):
        if event is not None:
            handle(event)
            last = event
        if asked_at is None and stop():
            asked_at = clock.monotonic()
            process.cancel()
        elif asked_at is not None and clock.monotonic() - asked_at >= grace:
            logger.warning("The engine (process %d) did not stop when asked; it is killed.", process.pid)
            process.kill()
    _see_off(process, grace if asked_at is None else 0.0)
    return last if isinstance(last, Finished | Failed) else _silent()


def asked(control: ExecutionControl) -> bool:
    """Tell whether somebody wants the run to end; raises what the control raises."""
    return control.cancelled() is not None


def log_last_words(process: EngineProcess, control: ExecutionControl) -> None:
    """Put what a crashed engine wrote to stderr into the run's log, or that it wrote nothing."""
    if process.stderr_tail:
        control.log("error", clean(f"The engine's last words: {process.stderr_tail}", _LAST_WORDS))
    elif process.returncode is not None and process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        control.log("error", f"The engine (process {process.pid}) was ended by {name}, without last words.")


def _see_off(process: EngineProcess, grace_seconds: float) -> None:
    if process.wait(grace_seconds) is not None:
        return
    while not process.kill():
        # Uninterruptible I/O: nothing can be said about its end before it is over.
        logger.warning("The engine (process %d) can't be killed yet.", process.pid)
        clock.sleep(_KILL_EVERY_SECONDS)


def _silent() -> Failed:
    return Failed(
        error=ErrorInfo(code="ENGINE_LOST", message="the engine ended without a word", failure_class="transient")
    )
