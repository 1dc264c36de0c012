"""Rings workers through the broker: settings.SYNCOVA_DOORBELL and SYNCOVA_WAKE point here.

Owns publishing alone. A ring is a hint about a committed row, so a failure is logged and left to the next pass;
it never raises into the request or pass that rang. Messages carry ids and fences, never secrets or paths.
"""

import logging
import threading
import uuid

from django.conf import settings
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from syncova_project import clock
from syncova_project.celery import (
    BROKER_OPTIONS,
    CONTROL_QUEUE,
    LOOKUP_PREFIX,
    TICK_TASK,
    WORK_PREFIX,
    app,
)

EXECUTE_TASK = "syncova.execute_run"
INSPECT_TASK = "syncova.inspect_repository"
LOOKUP_TASK = "syncova.look_into_backup"
# After a failure nobody in this process tries again for so long: a pass that admits sixteen runs while the broker
# holds still would otherwise wait sixteen times for the socket.
QUIET_SECONDS = 5.0

logger = logging.getLogger(__name__)


class _Quiet:
    """Remembers until when the broker is left alone; shared by the threads of a web process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = float("-inf")

    def holds(self) -> bool:
        with self._lock:
            return clock.monotonic() < self._until

    def begin(self) -> None:
        with self._lock:
            self._until = clock.monotonic() + QUIET_SECONDS


_quiet = _Quiet()


def ring(run_id: uuid.UUID, fence: int, group: str) -> bool:
    """Tell a worker of `group` that this run is admitted under `fence`. False: not sent, the next pass rings again."""
    return _publish(EXECUTE_TASK, [str(run_id), fence], WORK_PREFIX + group)


def wake() -> bool:
    """Ask for a pass at once. False: not sent, the next regular one does it."""
    return _publish(TICK_TASK, [], CONTROL_QUEUE)


def inspect(repository_id: uuid.UUID, group: str) -> bool:
    """Ask a worker of `group` to open the repository and adopt its id. False: not sent."""
    return _publish(INSPECT_TASK, [str(repository_id)], LOOKUP_PREFIX + group)


def look(lookup_id: uuid.UUID, group: str) -> bool:
    """Ask a worker of `group` to look into a backup. False: not sent, whoever waits for the answer rings again."""
    return _publish(LOOKUP_TASK, [str(lookup_id)], LOOKUP_PREFIX + group)


def _publish(task: str, arguments: list[object], queue: str) -> bool:
    if not settings.SYNCOVA_BROKER_URL or _quiet.holds():
        return False
    # A connection of its own: a pooled one may be half dead after the broker's restart, and kombu reconnects for
    # ever on the pool's behalf unless max_retries says otherwise.
    options = {**BROKER_OPTIONS, "max_retries": 0}
    try:
        with Connection(settings.SYNCOVA_BROKER_URL, transport_options=options) as connection:  # type: ignore[no-untyped-call]
            app.send_task(task, args=arguments, queue=queue, connection=connection, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        _quiet.begin()
        logger.warning("The broker took no message for queue %s: %s. The next pass rings again.", queue, error)
        return False
    return True
