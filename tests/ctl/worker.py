"""A worker for tests of the client: answers the server's bells in the thread that rings, with a recording executor.

SYNCOVA_INSPECT, SYNCOVA_WAKE and SYNCOVA_DOORBELL point here. The passes, moves and verdicts are the real ones.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs import run_log, transitions
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.execution import execution_request
from jobs.executors import ExecutionRequest, ExecutionResult, Figures, SourceResult
from jobs.models import WorkerProcess
from jobs.run_log import LogLine
from jobs.services import WorkerInput, worker_seen
from jobs.states import BackupMode, TaskState
from jobs.tick import run_pass
from repositories.models import Repository
from repositories.services import repository_inspected, repository_inspection_failed

SKIPPED_PATH = "/skips"


@dataclass
class Plan:
    """How the worker answers; without `opening` nobody is there to open a repository."""

    opening: Callable[[uuid.UUID], None] | None = None
    executes: bool = True
    requests: list[ExecutionRequest] = field(default_factory=list)
    # What broke the worker: the bells of the server log it alone, and whoever waits for a run would wait for ever.
    broken: BaseException | None = None
    # What a run without a job comes to.
    comes_to: Callable[[ExecutionRequest], ExecutionResult] = field(default=lambda _request: ExecutionResult())


PLAN = Plan()


def inspect(repository_id: uuid.UUID, group: str) -> None:
    """Open a repository as planned."""
    if PLAN.opening is not None:
        PLAN.opening(repository_id)


def opens(repository_id: uuid.UUID) -> None:
    """Find the repository that was there before, or a new one."""
    known = Repository.objects.get(pk=repository_id).repository_id
    repository_inspected(repository_id=repository_id, repository_hex=known or uuid.uuid4().hex, now=database_now())


def finds_another(repository_id: uuid.UUID) -> None:
    """Find a repository that was never there before."""
    repository_inspected(repository_id=repository_id, repository_hex=uuid.uuid4().hex, now=database_now())


def finds_nothing(repository_id: uuid.UUID) -> None:
    repository_inspection_failed(
        repository_id=repository_id, code="REPOSITORY_NOT_FOUND", message="nothing is there", now=database_now()
    )


def has_wrong_password(repository_id: uuid.UUID) -> None:
    repository_inspection_failed(
        repository_id=repository_id, code="WRONG_PASSWORD", message="No key slot opens.", now=database_now()
    )


def wake() -> None:
    """Do a pass at once, as the control worker does.

    Who is there says so again: on a machine that stands still for half a minute the slots would be gone, and since
    nobody ticks, a run that is held for that would wait for ever.
    """
    WorkerProcess.objects.update(last_seen=database_now())
    try:
        run_pass()
    except BaseException as error:
        PLAN.broken = PLAN.broken or error
        raise


def sleeps() -> None:
    """Let no pass be made."""


def ring(run_id: uuid.UUID, fence: int, group: str) -> None:
    """Execute an admitted run: one file a source; a source named SKIPPED_PATH had one that could not be read."""
    if not PLAN.executes:
        return
    try:
        execute(run_id, fence)
    except BaseException as error:
        PLAN.broken = PLAN.broken or error
        raise


def execute(run_id: uuid.UUID, fence: int) -> None:
    """Start a run, log a line, and end it."""
    assert transitions.start(run_id, fence, "worker-1", now=database_now())
    request = execution_request(run_id, fence)
    assert request is not None
    PLAN.requests.append(request)
    run_log.append(run_id, fence, [LogLine(database_now(), "info", "read\x1b[31m one file")], now=database_now())
    sources = tuple(
        SourceResult(
            source.task_run_id,
            TaskState.SUCCEEDED,
            backup_id=f"run-{run_id}-data-{position:08x}",
            manifest_id=uuid.uuid4().hex,
            chain=source.chain,
            mode=BackupMode.FULL,
            figures=Figures(files=1, logical_bytes=2048, bytes_read=2048, skipped=int(source.name == SKIPPED_PATH)),
            skip_reasons={"permission": 1} if source.name == SKIPPED_PATH else {},
        )
        for position, source in enumerate(request.sources)
    )
    result = ExecutionResult(sources=sources) if request.job_id else PLAN.comes_to(request)
    assert conclude(run_id, fence, result, now=database_now())


def register_worker() -> None:
    """Give the default group slots."""
    worker_seen(WorkerInput("default", "alpha", 1, slots=4), now=database_now())


def repositories() -> list[str]:
    """Return the names of registered repositories."""
    return list(Repository.objects.values_list("name", flat=True))
