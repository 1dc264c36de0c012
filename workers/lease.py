"""The keeper of one running run's lease: everything that a supervisor says to the database, in a thread of its own.

Owns the thread, its connection and the order of its writes. A database that hangs therefore never stops the
supervisor from reading its engine, seeing SIGTERM or killing. Must not decide what a run does; it only learns
whether the lease still holds and whether somebody asked to cancel.
"""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Protocol

from django.db import Error

from jobs.executors import Progress
from jobs.leases import LeaseLostError
from jobs.states import CancelOrigin
from syncova_project import clock
from syncova_project.database_faults import is_away, reason_of
from workers.database import PAUSE_SECONDS, forget_connection

POLL_SECONDS = 1.5
STALLED_AFTER_SECONDS = 900.0
_ANSWER_SLICE_SECONDS = 0.2
_LATE_SECONDS = 15.0

logger = logging.getLogger(__name__)


class Desk(Protocol):
    """What the keeper may do with its run's row; every write is guarded by the fence, False = the lease is lost."""

    def cancel_origin(self) -> CancelOrigin | None:
        """Read who asked to cancel (None: nobody); raises LeaseLostError when the row is no longer ours."""

    def heartbeat(self, progress: Progress | None = None) -> bool:
        """Give a sign of life with the progress."""

    def record(self, action: Callable[[], object]) -> bool:
        """Run `action` in a transaction that commits only if one guarded UPDATE proves the lease."""

    def stalled(self, seconds: int) -> bool:
        """Record that nothing has moved for so long."""


@dataclass(frozen=True, slots=True)
class _Write:
    action: Callable[[], object]
    answer: "Future[bool]"


class LeaseKeeper:
    """Keeps one lease from `start` to `stop`. `report`, `submit`, `confirm` and the properties are thread safe."""

    def __init__(self, desk: Desk, *, heartbeat_seconds: float, poll_seconds: float = POLL_SECONDS) -> None:
        self._desk = desk
        self._heartbeat_seconds = heartbeat_seconds
        self._poll_seconds = min(poll_seconds, heartbeat_seconds)
        self._writes: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._pending: _Write | None = None
        self._progress: Progress | None = None
        self._moved_at = self._beaten_at = self._look_at = clock.monotonic()
        self._stalled = False
        self._origin: CancelOrigin | None = None
        self._lost = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to heartbeat and to read."""
        self._thread.start()

    def stop(self) -> None:
        """Do the writes that are queued, then end. Waits for a database that is away, unless the lease is lost."""
        self._stopping.set()
        self._writes.put(None)
        self._thread.join(_LATE_SECONDS)
        if self._thread.is_alive():
            logger.warning("The run's records are not written yet: the database does not answer. Still waiting.")
        self._thread.join()

    @property
    def lost(self) -> bool:
        """Whether the lease is gone; final."""
        return self._lost.is_set()

    @property
    def origin(self) -> CancelOrigin | None:
        """Who asked to cancel, as last read; never goes back to None."""
        return self._origin

    def report(self, progress: Progress) -> None:
        """Remember how far the run is; written with the next heartbeat."""
        if progress != self._progress:
            self._progress, self._moved_at, self._stalled = progress, clock.monotonic(), False

    def submit(self, action: Callable[[], object]) -> None:
        """Queue one write; it takes effect only while the lease holds."""
        self._queue(action)

    def confirm(self, give_up: Callable[[], bool]) -> bool | None:
        """Prove that the lease holds now, waiting for the database as long as it takes or until `give_up`.

        False: the lease is lost. None: given up, nothing was proved, so nothing may be committed.
        """
        answer = self._queue(_nothing)
        while not self.lost and not give_up():
            if wait([answer], timeout=_ANSWER_SLICE_SECONDS).done:
                return answer.result()
        return False if self.lost else None

    def _queue(self, action: Callable[[], object]) -> "Future[bool]":
        answer: Future[bool] = Future()
        self._writes.put(_Write(action, answer))
        return answer

    def _keep(self) -> None:
        try:
            while self._pending or not (self._stopping.is_set() and self._writes.empty()):
                self._round()
        except LeaseLostError:
            self._lost.set()
        except Exception:
            # A process edge: a lease that nobody keeps is a lost one, and the reaper tells the rest.
            self._lost.set()
            logger.exception("The lease can no longer be kept.")
        finally:
            self._refuse()
            forget_connection()

    def _round(self) -> None:
        """One exchange with the database; a write that it does not answer stays pending."""
        try:
            if clock.monotonic() >= self._look_at:
                self._look()
                self._look_at = clock.monotonic() + self._poll_seconds
            self._pending = self._pending or self._next_write()
            if self._pending is not None:
                self._perform(self._pending)
                self._pending = None
        except Error as error:
            if not is_away(error):
                raise
            logger.warning("The database does not answer; the lease is asked for again: %s", reason_of(error))
            forget_connection()
            clock.sleep(PAUSE_SECONDS)

    def _next_write(self) -> _Write | None:
        try:
            return self._writes.get(timeout=max(0.0, self._look_at - clock.monotonic()))
        except queue.Empty:
            return None

    def _perform(self, write: _Write) -> None:
        held = self._desk.record(write.action)
        write.answer.set_result(held)
        _require(held=held)

    def _look(self) -> None:
        self._origin = self._desk.cancel_origin() or self._origin
        now = clock.monotonic()
        if now - self._beaten_at >= self._heartbeat_seconds:
            _require(held=self._desk.heartbeat(self._progress))
            self._beaten_at = now
        if not self._stalled and now - self._moved_at >= STALLED_AFTER_SECONDS:
            _require(held=self._desk.stalled(int(now - self._moved_at)))
            self._stalled = True

    def _refuse(self) -> None:
        if self._pending is not None and not self._pending.answer.done():
            self._pending.answer.set_result(False)
        while not self._writes.empty():
            write = self._writes.get()
            if write is not None:
                write.answer.set_result(False)


def _nothing() -> None:
    return None


def _require(*, held: bool) -> None:
    if not held:
        raise LeaseLostError
