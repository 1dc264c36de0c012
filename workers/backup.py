"""The operation of a backup run (A4, A6): one engine process backs up every source that this machine allows.

Owns the order: sources, intention, engine, result. What each event of the engine means is workers.backup_events'.
"""

import os
from dataclasses import replace
from functools import partial
from typing import Final

from django.conf import settings

from jobs.executors import (
    ExecutionControl,
    ExecutionRequest,
    ExecutionResult,
    ExecutionSource,
    Failure,
    SourceResult,
)
from jobs.leases import LeaseLostError
from jobs.source_paths import refusal
from jobs.states import FailureClass
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Failed, Finished
from repositories.models import Repository
from repositories.opening import RepositoryAccess
from repositories.services import fence_intend
from workers import outcome, run_journal
from workers.backup_events import BackupEvents, EngineTalk
from workers.damage import found_by_backup
from workers.database import until_done
from workers.engine_request import backup_request, engine_environment
from workers.engine_run import asked, follow, log_last_words
from workers.hook_turns import SourceTurns
from workers.hooks import RunHooks

_NOTHING: Final = ExecutionResult()


def back_up(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Back up the run's sources, between the job's hooks (6.4).

    Sources that this machine's roots exclude fail by themselves (SOURCE_NOT_ALLOWED), as do those of failing hooks.
    """
    hooks = RunHooks(request, control)
    if hooks.refused is not None:
        return hooks.after_failure(hooks.refused)
    return hooks.after_job(hooks.before_job() or _sources(request, control, row, access, hooks))


def _sources(
    request: ExecutionRequest,
    control: ExecutionControl,
    row: Repository,
    access: RepositoryAccess,
    hooks: RunHooks,
) -> ExecutionResult:
    """Back up what may be, each source between its own hooks."""
    refused = [result for source in request.sources if (result := _refused(source, control)) is not None]
    left_out = {result.task_run_id for result in refused}
    allowed = tuple(source for source in request.sources if source.task_run_id not in left_out)
    turns = SourceTurns(request, control, hooks)
    try:
        done = _by_engine(replace(request, sources=allowed), control, (row, access), turns) if allowed else _NOTHING
    except OSError as error:
        # As the supervisor would say it, but for the hooks that still have to undo what was made ready.
        message = outcome.clean(f"The engine could not be started: {error}")
        done = ExecutionResult(failure=Failure("ENGINE_NOT_STARTED", message, FailureClass.TRANSIENT))
    return turns.close(replace(done, sources=(*refused, *done.sources)))


def _by_engine(
    request: ExecutionRequest,
    control: ExecutionControl,
    opened: tuple[Repository, RepositoryAccess],
    turns: SourceTurns,
) -> ExecutionResult:
    row, access = opened
    # Committed before the repository can hold it: what is found there later and is higher was never ours.
    intend = partial(fence_intend, repository_id=row.id, fence=request.fence)
    until_done(intend, give_up=lambda: asked(control))
    if asked(control):
        return ExecutionResult(cancelled=control.cancelled())
    # Started by this thread, which outlives it: Linux kills the engine with the thread that started it.
    asks = backup_request(request, access, turn_seconds=turns.seconds)
    with EngineProcess(asks, environment=engine_environment()) as process:
        events = BackupEvents(request, control, EngineTalk(process, turns), access, row.fence_confirmed)
        last = follow(process, handle=events.handle, stop=lambda: asked(control))
        log_last_words(process, control)
    result = replace(_result(last, events.results(), control, access), elsewhere=events.elsewhere)
    if result.failure is not None:
        events.unopened(result.failure)
    # What lies in another one's place says nothing of the registered one.
    return result if result.elsewhere else replace(result, damage=found_by_backup(request, result))


def _result(
    last: Finished | Failed, sources: tuple[SourceResult, ...], control: ExecutionControl, access: RepositoryAccess
) -> ExecutionResult:
    if not isinstance(last, Failed):
        return ExecutionResult(sources=sources)
    origin = control.cancelled()
    if origin is not None:
        return ExecutionResult(cancelled=origin, sources=sources)
    if last.error.code == "LEASE_LOST":
        raise LeaseLostError(last.error.message)
    return ExecutionResult(failure=outcome.unopened(last.error, access.expected_id), sources=sources)


def _refused(source: ExecutionSource, control: ExecutionControl) -> SourceResult | None:
    """Ask this machine's own roots: what was saved may be older than they are, or meant for another worker."""
    roots = [os.fsencode(root) for root in settings.SYNCOVA_SOURCE_ROOTS]
    why = refusal(source.path, roots, [os.fsencode(settings.DATA_DIR)])
    if why is None:
        return None
    message = outcome.clean(f"{source.name} {why}")
    result = outcome.failed(source, Failure("SOURCE_NOT_ALLOWED", message, FailureClass.CONFIGURATION))
    for line in run_journal.source_ends(source, result):
        control.log(*line)
    return result
