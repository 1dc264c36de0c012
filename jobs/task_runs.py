"""Writes of task runs: made at admission, told by the executor under the run's fence, closed with the run.

Owns the rows of `task_runs`. Every write of an executor asks in the same statement whether the run is still its own.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Greatest

from jobs.bulk_rows import insert_all
from jobs.executors import SourceResult
from jobs.models import Run, TaskRun
from jobs.states import EXPLAINED_TASK_STATES, OPEN_TASK_STATES, FailureClass, RunState, TaskState
from jobs.verdict import Verdict
from repositories.identifiers import new_id


def create(run_id: uuid.UUID, source_ids: Iterable[uuid.UUID], *, now: dt.datetime) -> None:
    """Do the same as `create_all` for one run."""
    create_all({run_id: list(source_ids)}, now=now)


def create_all(sources: Mapping[uuid.UUID, Sequence[uuid.UUID]], *, now: dt.datetime) -> None:
    """Make one pending task run for each source of each run, in order; those of an earlier admission are replaced."""
    _pending().filter(run_id__in=list(sources)).delete()
    made = [
        (new_id(now), run_id, source_id, position)
        for run_id, source_ids in sources.items()
        for position, source_id in enumerate(source_ids)
    ]
    if made:
        columns = zip(("id", "run_id", "source_id", "position"), zip(*made, strict=True), strict=True)
        insert_all(TaskRun, {name: list(values) for name, values in columns}, {"state": TaskState.PENDING})


def forget_pending(run_id: uuid.UUID) -> None:
    """Drop what an admission made that nobody took: the next one pins its own revision."""
    _pending().filter(run_id=run_id).delete()


def _pending() -> QuerySet[TaskRun]:
    return TaskRun.objects.filter(state=TaskState.PENDING)


def source_started(run_id: uuid.UUID, fence: int, task_run_id: uuid.UUID, *, now: dt.datetime) -> bool:
    """Pending → running; False: the run is no longer this executor's."""
    with transaction.atomic():
        pending = _mine(run_id, fence).filter(id=task_run_id, state=TaskState.PENDING)
        return bool(pending.update(state=TaskState.RUNNING, started_at=now))


def source_finished(run_id: uuid.UUID, fence: int, result: SourceResult, *, now: dt.datetime) -> bool:
    """Write one source's end and figures; False: the run is no longer this executor's, or the end was told before."""
    with transaction.atomic():
        open_rows = _mine(run_id, fence).filter(id=result.task_run_id, state__in=OPEN_TASK_STATES)
        return bool(open_rows.update(**_columns(result, now)))


def problem_found(
    run_id: uuid.UUID, fence: int, task_run_id: uuid.UUID, problem: Mapping[str, Any], *, now: dt.datetime
) -> bool:
    """Put a problem before those of a source, which may have ended; False: the run is no longer this executor's."""
    with transaction.atomic():
        mine = _mine(run_id, fence).filter(id=task_run_id).first()
        if mine is None:
            return False
        mine.problems = [dict(problem), *mine.problems]
        mine.save(update_fields=["problems"])
        return True


def record(run_id: uuid.UUID, fence: int, results: Sequence[SourceResult], *, now: dt.datetime) -> None:
    """Write the ends of all sources that were not told one by one."""
    for result in results:
        source_finished(run_id, fence, result, now=now)


def close_open(run_id: uuid.UUID, verdict: Verdict, *, now: dt.datetime) -> None:
    """End the task runs that are still open with their run, whose end has just been written."""
    values: dict[str, Any] = {"state": TaskState.CANCELLED}
    if verdict.state is not RunState.CANCELLED:
        failure = verdict.failure
        values = {
            "state": TaskState.FAILED,
            "failure_class": failure.failure_class if failure else FailureClass.UNKNOWN,
            "error_code": failure.code if failure else "SOURCE_NOT_REPORTED",
            "error_message": failure.message if failure else "",
            "error_hint": failure.hint if failure else "",
        }
    ended = Greatest(now, Coalesce(F("started_at"), now))
    TaskRun.objects.filter(run_id=run_id, state__in=OPEN_TASK_STATES).update(finished_at=ended, **values)


def _mine(run_id: uuid.UUID, fence: int) -> QuerySet[TaskRun]:
    """Return a run's task runs, none unless it still runs under `fence`; its row is locked before theirs."""
    mine = Run.objects.select_for_update(no_key=True).filter(id=run_id, fence=fence, state=RunState.RUNNING)
    return TaskRun.objects.filter(run_id__in=[run.id for run in mine.only("id")])


def _columns(result: SourceResult, now: dt.datetime) -> dict[str, Any]:
    # The host's clock may be ahead of the database's, but no source began or ended after it was told.
    started = Coalesce(F("started_at"), min(result.started_at or now, now))
    values: dict[str, Any] = {
        "state": _state(result),
        "started_at": started,
        "finished_at": Greatest(min(result.finished_at or now, now), started),
        "mode": result.mode or "",
        "backup_id": result.backup_id,
        "manifest_id": result.manifest_id,
        "parent_backup_id": result.parent_backup_id,
        "chain": result.chain,
        "problems": [dict(problem) for problem in result.problems],
        **asdict(result.figures),
    }
    if result.state in EXPLAINED_TASK_STATES and result.failure is not None:
        failure = result.failure
        values |= {"failure_class": failure.failure_class, "error_code": failure.code}
        values |= {"error_message": failure.message, "error_hint": failure.hint}
    return values


def _state(result: SourceResult) -> TaskState:
    """A source with skipped objects is never a success (D2)."""
    if result.state == TaskState.SUCCEEDED and result.figures.skipped:
        return TaskState.PARTIAL_FAILURE
    return result.state
