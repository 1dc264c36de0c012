"""The engine executor (A2, A4-A10): one run becomes one engine process that backs up every source.

Owns the order: access, intention, engine, result. Its supervisor writes the run's end; the engine alone touches the
medium. What it records about the repository and its backups is workers.backup_events' part.
"""

from functools import partial

from django.conf import settings

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure
from jobs.leases import LeaseLostError
from jobs.states import FailureClass, RunKind
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Event, Failed
from repositories.models import Repository
from repositories.opening import RepositoryAccess, access_to
from repositories.selectors import repository_get
from repositories.services import fence_intend
from syncova_project.errors import ConfigurationError, SyncovaError
from workers import outcome
from workers.backup_events import BackupEvents
from workers.database import until_done
from workers.engine_request import backup_request, engine_environment
from workers.engine_run import follow


class EngineExecutor:
    """Executes backups by the engine. Making one without sealing keys is refused: not at 2 a.m. (A5)."""

    def __init__(self) -> None:
        if not settings.SYNCOVA_SECRET_KEYS:
            raise ConfigurationError(
                "SYNCOVA_SECRET_KEYS is empty: no repository's password can be opened, so nothing can be backed up.",
                hint="Give this worker the keys that the web process seals with.",
            )

    def execute(self, request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        """Back up every source of the run in one opening of its repository (A4).

        Raises LeaseLostError when the run is no longer this executor's; nothing is committed then.
        """
        if request.kind is not RunKind.BACKUP:
            return _refused(f"This version executes no runs of kind {request.kind}.")
        row = until_done(partial(repository_get, request.repository_id), give_up=lambda: _asked(control))
        if row is None:
            return ExecutionResult(cancelled=control.cancelled())
        try:
            access = access_to(row)
        except SyncovaError as error:
            return ExecutionResult(failure=_unopened(error))
        if not access.password and not settings.SYNCOVA_ALLOW_UNENCRYPTED:
            return _refused("The repository has no password, and SYNCOVA_ALLOW_UNENCRYPTED is not set.")
        if not access.password:
            control.log("warning", "The repository is unencrypted: it opens with the published empty password.")
        return _back_up(request, control, row, access)


def _back_up(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    # Committed before the repository can hold it: what is found there later and is higher was never ours.
    intend = partial(fence_intend, repository_id=row.id, fence=request.fence)
    until_done(intend, give_up=lambda: _asked(control))
    if _asked(control):
        return ExecutionResult(cancelled=control.cancelled())
    # Started by this thread, which outlives it: Linux kills the engine with the thread that started it.
    with EngineProcess(backup_request(request, access), environment=engine_environment()) as process:
        events = BackupEvents(request, control, process, access, row.fence_confirmed)
        last = follow(process, handle=events.handle, stop=lambda: _asked(control))
        words = process.stderr_tail
    if words:
        control.log("error", outcome.clean(f"The engine's last words: {words}", 8000))
    return _result(last, events, control)


def _result(last: Event, events: BackupEvents, control: ExecutionControl) -> ExecutionResult:
    sources = events.results()
    if not isinstance(last, Failed):
        return ExecutionResult(sources=sources)
    origin = control.cancelled()
    if origin is not None:
        return ExecutionResult(cancelled=origin, sources=sources)
    if last.error.code == "LEASE_LOST":
        raise LeaseLostError(last.error.message)
    return ExecutionResult(failure=outcome.failure_of(last.error), sources=sources)


def _asked(control: ExecutionControl) -> bool:
    return control.cancelled() is not None


def _refused(message: str) -> ExecutionResult:
    return ExecutionResult(failure=Failure("CONFIGURATION", message, FailureClass.CONFIGURATION))


def _unopened(error: SyncovaError) -> Failure:
    return Failure(error.code, error.message, FailureClass.AUTHENTICATION, hint=error.hint)
