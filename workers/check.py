"""The operation of a check run: one engine process says whether all that the backups need is there and unharmed.

Owns the translation of its report into a verdict's parts: damage is a failure of class integrity. Only reads.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure
from jobs.states import FailureClass
from repositories.models import Repository
from repositories.opening import RepositoryAccess
from workers import outcome
from workers.damage import found
from workers.engine_request import check_request
from workers.operation_run import Handed, carry_out

_TOLD: Final = ("read_data", "backups", "packs", "chunks_read", "bytes_read", "problem_count", "proof")


def check(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Check the run's repository; `read_data` in the run's parameters reads every pack too."""
    order = check_request(access, read_data=request.parameters.get("read_data") is True)
    return carry_out(Handed(request, control, access), order, partial(_verdict, request, control))


def _verdict(request: ExecutionRequest, control: ExecutionControl, report: Mapping[str, Any]) -> ExecutionResult:
    told = {name: report[name] for name in _TOLD if name in report}
    if report.get("ok") is True:
        return ExecutionResult(parameters=told)
    for problem in report.get("problems", ()):
        control.log("error", outcome.clean(f"{problem['kind']}: {problem['object']}: {problem['message']}"))
    hurt = len(report.get("hurt_backups", ()))
    message = f"The check found {report.get('problem_count', 0)} problems; {hurt} backups are hurt."
    failure = Failure(
        "INTEGRITY",
        message,
        FailureClass.INTEGRITY,
        hint="The run's log names them, as does: ./syncova check LOCATION. The repository is frozen until somebody "
        "clears it.",
    )
    return ExecutionResult(failure=failure, parameters=told, damage=found(request, failure))
