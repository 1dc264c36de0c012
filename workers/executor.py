"""The engine executor (A2, A4, A5): hands each run to the operation of its kind, with what opens its repository.

Owns access: what is refused before any engine starts. Its supervisor writes the run's end; the engine alone touches
the medium.
"""

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from django.conf import settings

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure
from jobs.states import FailureClass, RunKind
from repositories.engine.high_water import HighWater
from repositories.memory import state_remembered
from repositories.models import Repository
from repositories.opening import RepositoryAccess, access_to
from repositories.selectors import repository_get
from syncova_project.errors import ConfigurationError, SyncovaError
from workers import run_journal
from workers.backup import back_up
from workers.check import check
from workers.copying import copy
from workers.database import until_done
from workers.engine_run import asked
from workers.media import reached
from workers.restore import restore
from workers.upkeep import forget, prune

Operation = Callable[[ExecutionRequest, ExecutionControl, Repository, RepositoryAccess], ExecutionResult]

# Restore drills come with their feature; until then they are refused by name.
OPERATIONS: Final[Mapping[RunKind, Operation]] = {
    RunKind.BACKUP: back_up,
    RunKind.RESTORE: restore,
    RunKind.CHECK: check,
    RunKind.PRUNE: prune,
    RunKind.FORGET: forget,
    RunKind.COPY: copy,
}


class EngineExecutor:
    """Executes runs by the engine. Making one without sealing keys is refused: not at 2 a.m. (A5)."""

    def __init__(self) -> None:
        if not settings.SYNCOVA_SECRET_KEYS:
            raise ConfigurationError(
                "SYNCOVA_SECRET_KEYS is empty: no repository's password can be opened, so nothing can be backed up.",
                hint="Give this worker the keys that the web process seals with.",
            )

    def execute(self, request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        """Do the run's work in one opening of its repository (A4).

        Raises LeaseLostError when the run is no longer this executor's; nothing is committed then.
        """
        operation = OPERATIONS.get(request.kind)
        if operation is None:
            return _told(control, _refused("CONFIGURATION", f"This version executes no runs of kind {request.kind}."))
        known = until_done(partial(_known, request.repository_id), give_up=lambda: asked(control))
        if known is None:
            return ExecutionResult(cancelled=control.cancelled())
        row, _ = known
        control.log(*run_journal.begins(request, row.name))
        return _told(control, self._opened(operation, request, control, known))

    def _opened(
        self,
        operation: Operation,
        request: ExecutionRequest,
        control: ExecutionControl,
        known: tuple[Repository, HighWater],
    ) -> ExecutionResult:
        row, remembered = known
        try:
            access = access_to(row, remembered)
        except SyncovaError as error:
            return ExecutionResult(failure=_unopened(error))
        if not access.password and not settings.SYNCOVA_ALLOW_UNENCRYPTED:
            return _refused(
                "ENCRYPTION_REQUIRED", "The repository has no password, and SYNCOVA_ALLOW_UNENCRYPTED is not set."
            )
        if not access.password:
            control.log("warning", "The repository is unencrypted: it opens with the published empty password.")
        try:
            access = reached(access)
        except ConfigurationError as error:
            return ExecutionResult(failure=Failure(error.code, error.message, FailureClass.CONFIGURATION, error.hint))
        return operation(request, control, row, access)


def _known(repository_id: uuid.UUID) -> tuple[Repository, HighWater]:
    """Return the repository's row, and what was seen of the repository before it is opened."""
    return repository_get(repository_id), state_remembered(repository_id=repository_id)


def _told(control: ExecutionControl, result: ExecutionResult) -> ExecutionResult:
    control.log(*run_journal.ends(result))
    return result


def _refused(code: str, message: str) -> ExecutionResult:
    return ExecutionResult(failure=Failure(code, message, FailureClass.CONFIGURATION))


def _unopened(error: SyncovaError) -> Failure:
    return Failure(error.code, error.message, FailureClass.AUTHENTICATION, hint=error.hint)
