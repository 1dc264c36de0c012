"""Follows the engine operation of a run that has no sources: what it saw, how far it is, its lease, its end.

Owns what each event of such an operation means to the control plane. What its result comes to is the operation's own
judgement. Runs in the thread that follows the engine; every write goes through the control, under the run's lease.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure, Progress
from jobs.leases import LeaseLostError
from jobs.states import FailureClass
from repositories.engine.high_water import HighWater
from repositories.engine.process import protocol
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.requests import Request
from repositories.opening import RepositoryAccess
from workers import outcome
from workers.damage import found
from workers.engine_request import engine_environment
from workers.engine_run import asked, follow, log_last_words
from workers.fences import Alarm
from workers.openings import Look, Opening, record_look, record_meeting, record_opening, stored_mark
from workers.recorder import record

Judge = Callable[[Mapping[str, Any]], ExecutionResult]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Handed:
    """A run as its operation is handed it.

    `access` is of the repository that the engine's request names; `confirmed_before` the fence that it is known to
    hold, None where the operation puts none.
    """

    request: ExecutionRequest
    control: ExecutionControl
    access: RepositoryAccess
    confirmed_before: int | None = None


def carry_out(handed: Handed, order: Request, judge: Judge) -> ExecutionResult:
    """Have an engine child carry out `order`; return what `judge` says of its report, or why there is none.

    Raises LeaseLostError when the run is no longer this executor's.
    """
    # Started by this thread, which outlives it: Linux kills the engine with the thread that started it.
    with EngineProcess(order, environment=engine_environment()) as process:
        events = _Events(handed, process)
        last = follow(process, handle=events.handle, stop=lambda: asked(handed.control))
        log_last_words(process, handed.control)
    done = outdated(events.alarm) if events.refused else _result(last, handed, judge)
    result = replace(done, elsewhere=events.elsewhere)
    if isinstance(last, protocol.Finished) or events.elsewhere:
        return result
    # A copy that did not get so far as its second repository failed by the one that it reads.
    return replace(result, damage=found(handed.request, result.failure, None if events.opened else handed.access.id))


def order_of(parameters: Mapping[str, Any], shape: type[T]) -> T:
    """Return a run's parameters as the engine's order; raises msgspec.ValidationError for what is none."""
    return msgspec.json.decode(msgspec.json.encode(parameters), type=shape)


def malformed(error: msgspec.ValidationError) -> ExecutionResult:
    """Return the end of a run whose parameters no order can be made of."""
    message = outcome.clean(f"The run's parameters are no order: {error}")
    return ExecutionResult(failure=Failure("CONFIGURATION", message, FailureClass.CONFIGURATION))


def outdated(found: Alarm | None) -> ExecutionResult:
    """Return the end of a run that may not delete: the database knows less than the repository, or that is unknown."""
    why = found.reason if found else "What the repository holds of this control plane could not be compared."
    failure = Failure(
        "CONTROL_PLANE_OUTDATED",
        outcome.clean(f"Nothing was deleted. {why}"),
        FailureClass.CONFIGURATION,
        hint="Let the database learn from the repository: ./syncova manage reindex_repository",
    )
    return ExecutionResult(failure=failure)


class _Events:
    def __init__(self, handed: Handed, process: EngineProcess) -> None:
        self._handed = handed
        self._process = process
        self.opened = False
        self._same = False
        # What the fences say, once they were compared; a deletion waits for that.
        self.alarm: Alarm | None = None
        self._compared = False
        self.refused = False
        # The id of the repository that is there in place of the adopted one, "" when it is that one.
        self.elsewhere = ""

    def handle(self, event: protocol.Event) -> None:
        control = self._handed.control
        if isinstance(event, protocol.Opened):
            self._opened(event)
        elif isinstance(event, protocol.Finished):
            self._look(event.seen)
        elif isinstance(event, protocol.Progress):
            phase, current = outcome.clean(event.phase, 100), outcome.clean(event.current)
            control.heartbeat(Progress(phase, event.files, event.bytes_read, event.bytes_stored, current))
        elif isinstance(event, protocol.Log):
            control.log(event.level, outcome.clean(event.message))
        elif isinstance(event, protocol.ConfirmWanted):
            self._confirm(event)

    def _opened(self, event: protocol.Opened) -> None:
        expected = self._handed.access.expected_id
        self.opened, self._same = True, expected == event.repository_id
        if expected is not None and not self._same:
            self.elsewhere = event.repository_id
            self._handed.control.log("error", f"The repository was swapped: it is {event.repository_id}.")
        if self._handed.confirmed_before is None:
            look = self._told(event.seen, event.earlier_state)
            record(self._handed.control, partial(record_meeting, event.repository_id, look))
            return
        opening = Opening(
            observed_hex=event.repository_id,
            stored=stored_mark(event.controllers, self._handed.access.id),
            confirmed_before=self._handed.confirmed_before,
            fence=self._handed.request.fence,
            look=self._told(event.seen, event.earlier_state),
        )
        record(self._handed.control, partial(self._compare, opening))

    def _compare(self, opening: Opening) -> None:
        self.alarm = record_opening(opening)
        self._compared = True

    def _look(self, seen: HighWater | None) -> None:
        if self._same:
            record(self._handed.control, partial(record_look, self._told(seen)))

    def _told(self, seen: HighWater | None, earlier_state: str = "") -> Look:
        access = self._handed.access
        return Look(access.id, self._handed.request.run_id, access.remembered, seen, earlier_state)

    def _confirm(self, event: protocol.ConfirmWanted) -> None:
        try:
            self._handed.control.confirm()
        except LeaseLostError:
            self._process.confirm(event.id, ok=False)
        else:
            # Writes are done in order, so what the fences say is known by now; if not, nothing may be deleted.
            self.refused = not self._compared or self.alarm is not None
            self._process.confirm(event.id, ok=not self.refused)


def _result(last: protocol.Finished | protocol.Failed, handed: Handed, judge: Judge) -> ExecutionResult:
    if isinstance(last, protocol.Finished):
        return judge(last.result)
    origin = handed.control.cancelled()
    if origin is not None:
        return ExecutionResult(cancelled=origin)
    if last.error.code == "LEASE_LOST":
        raise LeaseLostError(last.error.message)
    return ExecutionResult(failure=outcome.unopened(last.error, handed.access.expected_id))
