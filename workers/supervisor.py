"""The supervisor: takes one admitted run to its end, in a child of the worker's pool.

Owns the order start → keep the lease → execute → write the end, and what happens when any of it goes wrong. It is
the process edge of a run: whatever an executor raises becomes a verdict, never a silent end.
"""

import logging
import os
import socket
import uuid
from dataclasses import replace
from typing import Final

from django.conf import settings
from django.db import Error
from django.utils.module_loading import import_string

from jobs import transitions
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.execution import execution_request
from jobs.executors import ExecutionRequest, ExecutionResult, Executor, Failure, NotConfiguredExecutor
from jobs.leases import LeaseLostError
from jobs.services import worker_drains
from jobs.services.draining import elsewhere
from jobs.states import FailureClass
from jobs.unrun_hooks import undone_by, undone_sentence
from jobs.verdict import Verdict
from syncova_project import clock
from syncova_project.database_faults import reason_of
from syncova_project.errors import SyncovaError
from workers import drain
from workers.database import until_done
from workers.desk import LeaseDesk
from workers.doorbell import ring
from workers.lease import LeaseKeeper
from workers.outcome import clean
from workers.process_marks import own_mark
from workers.run_control import MainProcessLostError, RunControl

_LEAVE_SECONDS: Final = 0.5

logger = logging.getLogger(__name__)


def supervise(run_id: uuid.UUID, fence: int) -> None:
    """Execute an admitted run; does nothing when it is no longer admitted under `fence`, or the worker shuts down."""
    if drain.requested():
        logger.info("Run %s is not started: this worker is shutting down", run_id)
        return
    worker = f"{socket.gethostname()}:{os.getpid()}"
    mark = own_mark()

    def start() -> bool:
        return transitions.start(run_id, fence, worker, mark=mark, now=database_now())

    if _is_anothers(run_id, fence):
        return
    if not until_done(start, give_up=drain.requested):
        logger.info("Run %s is not started under fence %d: it was withdrawn, cancelled, frozen or taken", run_id, fence)
        return
    result = _keep_and_execute(run_id, fence)
    if result is None:
        logger.warning("Run %s was lost to its reaper under fence %d; nothing more is written", run_id, fence)
        return
    verdict = _write_end(run_id, fence, result)
    logger.info("Run %s ended: %s", run_id, verdict.state if verdict else "its lease was lost, nothing was written")


def _is_anothers(run_id: uuid.UUID, fence: int) -> bool:
    """Ring again for a run that this worker must not take, since an operator drains it; True: it was left alone."""
    host, main_process = socket.gethostname(), os.getppid()
    group = until_done(
        lambda: elsewhere(run_id=run_id, host=host, process_id=main_process) or "", give_up=drain.requested
    )
    if not group:
        return False
    logger.info("Run %s is left to the other workers of group %s: this one is drained", run_id, group)
    # Workers of a group share a queue: without a pause this one might take its own ring again and again.
    clock.sleep(_LEAVE_SECONDS)
    ring(run_id, fence, group)
    return True


def configured_executor() -> Executor:
    """Make the executor that settings name; NotConfiguredExecutor with none (A3). Raises what its making raises."""
    if not settings.SYNCOVA_EXECUTOR:
        return NotConfiguredExecutor()
    executor: Executor = import_string(settings.SYNCOVA_EXECUTOR)()
    return executor


def _keep_and_execute(run_id: uuid.UUID, fence: int) -> ExecutionResult | None:
    """Execute under a kept lease; None when the lease was lost, so that nothing more may be written."""
    keeper = LeaseKeeper(LeaseDesk(run_id, fence), heartbeat_seconds=settings.SYNCOVA_HEARTBEAT_SECONDS)
    keeper.start()
    try:
        result = _execute(run_id, fence, keeper)
    finally:
        keeper.stop()
    return None if keeper.lost else result


def _execute(run_id: uuid.UUID, fence: int, keeper: LeaseKeeper) -> ExecutionResult | None:
    try:
        request = until_done(lambda: execution_request(run_id, fence), give_up=lambda: keeper.lost)
        if request is None:
            return None
        return _with_control(request, RunControl(run_id, fence, keeper, request.max_runtime_seconds))
    except LeaseLostError:
        return None
    except SyncovaError as error:
        return _failure(error.code, error.message, FailureClass.CONFIGURATION, hint=error.hint)
    except OSError as error:
        return _failure("ENGINE_NOT_STARTED", f"The engine could not be started: {error}", FailureClass.TRANSIENT)
    except Exception as error:
        # The process edge of a run: a defect of an executor is told as such.
        logger.exception("The executor of run %s failed", run_id)
        return _failure(
            "EXECUTOR_CRASHED", f"The executor has a defect: {type(error).__name__}: {error}", FailureClass.UNKNOWN
        )


def _with_control(request: ExecutionRequest, control: RunControl) -> ExecutionResult:
    try:
        return configured_executor().execute(request, control)
    except MainProcessLostError as error:
        undone = undone_by((call.moment, call.name) for call in request.hooks)
        why = f"{error}.{undone_sentence(undone)}"
        lost = _failure("WORKER_LOST", f"The worker died during the run: {why}", FailureClass.TRANSIENT)
        return replace(lost, parameters=undone)
    finally:
        control.flush()


def _write_end(run_id: uuid.UUID, fence: int, result: ExecutionResult) -> Verdict | None:
    """Write the end for as long as it takes (A16). A result that the database refuses is told as a failure."""

    def write() -> Verdict | None:
        if drain.requested():
            # Before the run is queued again: else it is admitted onto this dying worker, which has not said so yet.
            worker_drains(host=socket.gethostname(), process_id=os.getppid())
        return conclude(run_id, fence, result, now=database_now())

    try:
        return until_done(write)
    except Error as error:
        logger.exception("The result of run %s was refused", run_id)
        refused = _refused(error)
        return until_done(lambda: conclude(run_id, fence, refused, now=database_now()))


def _refused(error: Error) -> ExecutionResult:
    return _failure(
        "RESULT_REFUSED",
        f"The database refused what was to be written of the run's end: {reason_of(error)}",
        FailureClass.UNKNOWN,
        hint="What it backed up is in the repository; the worker's log has the whole error. Start it again.",
    )


def _failure(code: str, message: str, failure_class: FailureClass, hint: str = "") -> ExecutionResult:
    return ExecutionResult(failure=Failure(code, clean(message), failure_class, hint=hint))
