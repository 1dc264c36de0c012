"""The operation of a copy run: backups of one repository carried over into the run's own.

Owns the opening of the origin beside it and the translation of the report: what cannot be read in the origin is a
failure of class integrity, and all else is copied.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure, Figures
from jobs.states import FailureClass
from repositories.engine.display import show_count
from repositories.models import Repository
from repositories.opening import RepositoryAccess, repository_access
from syncova_project.errors import SyncovaError
from workers import outcome
from workers.damage import found
from workers.database import until_done
from workers.engine_run import asked
from workers.media import reached
from workers.operation_requests import copy_request
from workers.operation_run import Handed, carry_out

_TOLD: Final = ("related", "there", "deleted_there", "bytes_read", "bytes_stored", "new_chunks", "resealed_blocks")
_COUNTED: Final = ("copied", "healed", "failed", "damaged_manifests", "damaged_labels")


def copy(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Copy backups of the repository that the run's parameters name into the run's repository."""
    try:
        origin = _origin(request, control)
    except (SyncovaError, ValueError) as error:
        message = outcome.clean(f"The repository to copy from cannot be opened: {error}")
        return ExecutionResult(failure=Failure("CONFIGURATION", message, FailureClass.CONFIGURATION))
    if origin is None:
        return ExecutionResult(cancelled=control.cancelled())
    order = copy_request(request, origin, access)
    done = carry_out(Handed(request, control, origin), order, partial(_told, request, control, access))
    # What counts is where the copies are; an origin that was swapped is told in the log.
    return replace(done, elsewhere=str(done.parameters.get("met", "")))


def _origin(request: ExecutionRequest, control: ExecutionControl) -> RepositoryAccess | None:
    """Return what opens the origin; None: somebody wants the run to end."""
    named = uuid.UUID(str(request.parameters.get("from_repository_id")))
    access = until_done(lambda: repository_access(repository_id=named), give_up=lambda: asked(control))
    return None if access is None else reached(access)


def _told(
    request: ExecutionRequest, control: ExecutionControl, access: RepositoryAccess, report: Mapping[str, Any]
) -> ExecutionResult:
    told = {name: report[name] for name in _TOLD} | {name: len(report[name]) for name in _COUNTED}
    if access.expected_id not in {None, report["target_id"]}:
        told["met"] = report["target_id"]
    for each in report["copied"]:
        control.log("info", outcome.clean(f"copied {each['short_id']} of {each['source']}, {each['time']}"))
    for each in report["failed"]:
        control.log("error", outcome.clean(f"not copied: {each['short_id']} of {each['source']}: {each['reason']}"))
    if report["exit_code"]:
        hurt = show_count(told["failed"] + told["damaged_manifests"] + told["damaged_labels"], "object")
        message = f"{hurt} of the repository to copy from cannot be read; all else was copied."
        failure = Failure("INTEGRITY", message, FailureClass.INTEGRITY, hint="The run's log names the backups.")
        read = uuid.UUID(str(request.parameters["from_repository_id"]))
        return ExecutionResult(failure=failure, parameters=told, damage=found(request, failure, read))
    figures = Figures(bytes_read=report["bytes_read"], bytes_stored=report["bytes_stored"])
    return ExecutionResult(parameters=told, figures=figures)
