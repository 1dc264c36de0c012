"""What an executor may ask and tell while it works (jobs.executors.ExecutionControl), backed by the lease keeper.

Owns the merging of the reasons to stop: a cancel read from the row, the drain byte, the maximum runtime, a lost
lease, a dead main process. Touches no database: every write goes through the keeper's thread.
"""

import os
import uuid
from collections.abc import Callable
from functools import partial
from typing import Final

from jobs import run_log
from jobs.database_time import database_now
from jobs.executors import Progress
from jobs.leases import LeaseLostError
from jobs.run_log import LogLine
from jobs.states import CancelOrigin
from syncova_project import clock
from workers import drain
from workers.lease import LeaseKeeper

LOG_LINES: Final = 200
LOG_SECONDS: Final = 2.0


class MainProcessLostError(Exception):
    """The worker's main process died under this supervisor; nobody would drain or count it any more.

    Linux kills the supervisor with it; elsewhere it finds itself with another parent.
    """


class RunControl:
    """One run's control. Used by the thread that executes; what it queues is written by the keeper's."""

    def __init__(self, run_id: uuid.UUID, fence: int, keeper: LeaseKeeper, max_runtime: int | None) -> None:
        self._run_id = run_id
        self._fence = fence
        self._keeper = keeper
        self._main_process = os.getppid()
        self._ends_at = float("inf") if max_runtime is None else clock.monotonic() + max_runtime
        self._lines: list[LogLine] = []
        self._flush_at = 0.0

    def cancelled(self) -> CancelOrigin | None:
        """Return who asked for the end; a person outweighs a shutdown.

        Raises LeaseLostError once the run is someone else's, MainProcessLostError once the worker is dead.
        """
        if self._keeper.lost:
            raise LeaseLostError(f"run {self._run_id} is no longer running under fence {self._fence}")
        if os.getppid() != self._main_process:
            raise MainProcessLostError(f"the main process {self._main_process} of this worker is gone")
        if self._lines and clock.monotonic() >= self._flush_at:
            self.flush()
        if self._keeper.origin is not None:
            return self._keeper.origin
        if drain.requested():
            return CancelOrigin.SHUTDOWN
        return CancelOrigin.OVER_RUNTIME if clock.monotonic() >= self._ends_at else None

    def heartbeat(self, progress: Progress) -> None:
        """Tell progress; the keeper writes it with its next sign of life."""
        self._keeper.report(progress)

    def confirm(self) -> None:
        """Return once the database has proved the lease; raises LeaseLostError if it is lost or a cancel came first."""
        if not self._keeper.confirm(lambda: self.cancelled() is not None):
            raise LeaseLostError(f"run {self._run_id} has no proof of its lease, so nothing is committed")

    def log(self, level: str, message: str) -> None:
        """Append one line to the run's log; lines are gathered, so that a chatty source costs few rows."""
        if not self._lines:
            self._flush_at = clock.monotonic() + LOG_SECONDS
        self._lines.append(LogLine(clock.now(), level, message))
        if len(self._lines) >= LOG_LINES:
            self.flush()

    def record(self, action: Callable[[], object]) -> None:
        """Queue one write that takes effect only while the lease holds; its failure is logged (A9)."""
        self._keeper.submit(action)

    def flush(self) -> None:
        """Queue the gathered log lines."""
        lines, self._lines = tuple(self._lines), []
        if lines:
            self.record(partial(_append, self._run_id, self._fence, lines))


def _append(run_id: uuid.UUID, fence: int, lines: tuple[LogLine, ...]) -> None:
    run_log.append(run_id, fence, lines, now=database_now())
