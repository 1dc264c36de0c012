"""The operation of a check run: one engine process says whether all that the backups need is there and unharmed.

Owns the translation of its report into a verdict's parts: damage is a failure of class integrity. Only reads.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, Failure, Progress
from jobs.states import FailureClass
from repositories.engine.high_water import HighWater
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import Event, Failed, Finished, Log, Opened
from repositories.engine.process.protocol import Progress as EngineProgress
from repositories.models import Repository
from repositories.opening import RepositoryAccess
from workers import outcome
from workers.engine_request import check_request, engine_environment
from workers.engine_run import asked, follow, log_last_words
from workers.openings import Look, record_look
from workers.recorder import record

_TOLD: Final = ("read_data", "backups", "packs", "chunks_read", "bytes_read", "problem_count")


def check(
    request: ExecutionRequest, control: ExecutionControl, row: Repository, access: RepositoryAccess
) -> ExecutionResult:
    """Check the run's repository; `read_data` in the run's parameters reads every pack too."""

    seen: list[str] = []

    def remember(state: HighWater | None, earlier_state: str = "") -> None:
        if seen == [access.expected_id]:
            look = Look(access.id, request.run_id, access.remembered, state, earlier_state)
            record(control, partial(record_look, look))

    def handle(event: Event) -> None:
        if isinstance(event, Opened):
            seen.append(event.repository_id)
            remember(event.seen, event.earlier_state)
        elif isinstance(event, Finished):
            remember(event.seen)
        elif isinstance(event, EngineProgress):
            phase, current = outcome.clean(event.phase, 100), outcome.clean(event.current)
            control.heartbeat(Progress(phase, event.files, event.bytes_read, event.bytes_stored, current))
        elif isinstance(event, Log):
            control.log(event.level, outcome.clean(event.message))

    read_data = request.parameters.get("read_data") is True
    with EngineProcess(check_request(access, read_data=read_data), environment=engine_environment()) as process:
        last = follow(process, handle=handle, stop=lambda: asked(control))
        log_last_words(process, control)
    elsewhere = next((each for each in seen if access.expected_id not in {None, each}), "")
    return replace(_result(last, control, access), elsewhere=elsewhere)


def _result(last: Finished | Failed, control: ExecutionControl, access: RepositoryAccess) -> ExecutionResult:
    if isinstance(last, Finished):
        return _verdict(last.result, control)
    origin = control.cancelled()
    if origin is not None:
        return ExecutionResult(cancelled=origin)
    return ExecutionResult(failure=outcome.unopened(last.error, access.expected_id))


def _verdict(report: Mapping[str, Any], control: ExecutionControl) -> ExecutionResult:
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
        hint="The run's log names them, as does: ./syncova check LOCATION",
    )
    return ExecutionResult(failure=failure, parameters=told)
