"""Short words for tests of moves: a run's fence, its events, its present row, a good source, a run to be queued."""

from typing import Any

from jobs.executors import SourceResult
from jobs.models import Job, Run, RunEvent, TaskRun
from jobs.states import BackupMode, TaskState
from jobs.successors import NewRun
from tests.jobs.builders import NOW


def fence_of(run: Run) -> int:
    assert run.fence is not None
    return run.fence


def codes(run: Run) -> list[str]:
    return list(RunEvent.objects.filter(run=run).order_by("id").values_list("code", flat=True))


def again(run: Run) -> Run:
    run.refresh_from_db()
    return run


def good(task: TaskRun, **fields: Any) -> SourceResult:
    values: dict[str, Any] = {"backup_id": "b", "manifest_id": "m", "mode": BackupMode.FULL}
    return SourceResult(task.id, TaskState.SUCCEEDED, **(values | fields))


def new_run(job: Job, **fields: Any) -> NewRun:
    values: dict[str, Any] = {
        "kind": "backup",
        "repository_id": job.repository_id,
        "runner_id": job.runner_id,
        "trigger": "manual",
        "requested_by": "alice",
        "scheduled_for": NOW,
        "not_before": NOW,
        "priority": "normal",
        "job_id": job.id,
    }
    return NewRun(**(values | fields))
