"""Runs that somebody asks for, and their cancelling (E2).

Owns the requests; the moves themselves are jobs.transitions'. An answer means queued or asked, never done.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.db import transaction

from jobs import transitions
from jobs.doorbell import request_pass
from jobs.errors import (
    JobActiveError,
    JobPausedError,
    RepositoryNotReadyError,
    RunFinishedError,
    UpkeepActiveError,
    no_such_run,
)
from jobs.models import Job, Run
from jobs.selectors import phase
from jobs.sentences import held_sentence, is_postponed, postponed_sentence
from jobs.services.job_rows import lock_job
from jobs.services.operations import refuse_parameters
from jobs.services.restore_plans import as_planned
from jobs.services.runners import group_runner
from jobs.states import ACTIVE_STATES, CancelOrigin, Priority, RunKind, RunState, Trigger
from jobs.successors import NewRun
from repositories.models import Repository, RepositoryState
from syncova_project.access.services import audit_record

# What a run by hand may be asked to do beside running.
_ASKED: Final = ("accept_new_root", "ignore_windows", "ignore_dependencies")
# What can be asked for without a job.
OPERATIONS: Final = (RunKind.RESTORE, RunKind.CHECK, RunKind.DRILL, RunKind.PRUNE, RunKind.FORGET, RunKind.COPY)


def run_request(
    *,
    job_id: uuid.UUID,
    actor: str,
    now: dt.datetime,
    accept_new_root: bool = False,
    ignore_windows: bool = False,
    ignore_dependencies: bool = False,
) -> Run:
    """Queue a run of a job now; with `accept_new_root` the actor confirms what its sources hold now (2.6), with
    `ignore_windows` it starts whatever windows say, with `ignore_dependencies` whatever became of the jobs that it
    waits for: who may ask for that is the caller's to check, the trail tells it.

    Raises JobPausedError, RepositoryNotReadyError, or JobActiveError with the active run's id and why it waits.
    A frozen repository refuses nothing: the run waits and says so. A waiting retry gives way to a confirmation.
    """
    with transaction.atomic():
        # Its own row alone: joined to the repository, a job that moves to another one meanwhile would not be found.
        job = lock_job(job_id)
        if job.paused_at is not None:
            raise JobPausedError(f"The job {job.name} is paused.", hint="Resume it first.")
        _refuse_unready(job.repository)
        wanted = replace(
            _requested(job, actor, now),
            accept_new_root=accept_new_root,
            ignore_windows=ignore_windows,
            ignore_dependencies=ignore_dependencies,
        )
        run = transitions.enqueue(wanted, now=now)
        if run is None and accept_new_root and _retry_withdrawn(job, actor, now):
            run = transitions.enqueue(wanted, now=now)
        if run is None:
            raise _active(job, now)
        told: dict[str, object] = {"job": str(job.id)}
        told |= {name: True for name in _ASKED if getattr(wanted, name)}
        _audit(run, "run.request", actor, now, told)
        request_pass()
    return run


def operation_request(
    kind: RunKind, *, repository_id: uuid.UUID, parameters: Mapping[str, Any], actor: str, now: dt.datetime
) -> Run:
    """Queue a restore, check or other run that belongs to no job; `parameters` hold no secret.

    Raises RepositoryNotReadyError, UpkeepActiveError where the repository already has an active run of this kind, and
    what jobs.services.operations says of the parameters; restores are unlimited.
    """
    if kind not in OPERATIONS:
        raise ValueError(f"{kind} runs belong to a job")
    with transaction.atomic():
        repository = Repository.objects.filter(id=repository_id).first()
        if repository is None:
            raise RepositoryNotReadyError(
                f"There is no repository {repository_id}.", hint="List them with: ./syncova ctl repository list"
            )
        _refuse_unready(repository)
        parameters = as_planned(kind, repository, parameters)
        new = _operation(kind, repository, parameters, actor, now)
        refuse_parameters(kind, repository, parameters)
        run = transitions.enqueue(new, now=now)
        if run is None:
            raise UpkeepActiveError(
                f"The repository {repository.name} already has an active {kind} run.", hint="Wait for its end."
            )
        told = {"kind": str(kind), "repository": str(repository.id), "parameters": dict(parameters)}
        _audit(run, "run.request", actor, now, told)
        request_pass()
    return run


def run_cancel(*, run_id: uuid.UUID, actor: str, now: dt.datetime) -> Run:
    """Cancel a run: a queued one at once, a running one as soon as its worker sees it. Repeating is harmless.

    Raises RunNotFoundError, or RunFinishedError: an end is final.
    """
    with transaction.atomic():
        # Locked as the cancel itself locks, so that the trail tells the state that it met.
        transitions.lock_job(run_id)
        before = Run.objects.select_for_update(no_key=True).filter(id=run_id).first()
        if before is None:
            raise no_such_run(run_id)
        if transitions.request_cancel(run_id, CancelOrigin.USER, actor, now=now) is None:
            raise RunFinishedError(f"The run has already ended as {before.state}.", details={"state": before.state})
        run = Run.objects.get(id=run_id)
        _audit_cancel(before, run, actor, now)
    return run


def _audit_cancel(before: Run, after: Run, actor: str, now: dt.datetime) -> None:
    told = {
        "kind": before.kind,
        "job": str(before.job_id) if before.job_id else None,
        "repository": str(before.repository_id),
        **{name: _cancelling(run) for name, run in (("before", before), ("after", after))},
    }
    _audit(after, "run.cancel", actor, now, told)


def _cancelling(run: Run) -> dict[str, object]:
    return {"state": run.state, "cancel_origin": run.cancel_origin or None}


def _audit(run: Run, action: str, actor: str, now: dt.datetime, details: Mapping[str, object]) -> None:
    audit_record(actor=actor, action=action, subject_type="run", subject_id=run.id, now=now, details=details)


def _requested(job: Job, actor: str, now: dt.datetime) -> NewRun:
    return NewRun(
        kind=RunKind.BACKUP,
        repository_id=job.repository_id,
        runner_id=job.runner_id,
        trigger=Trigger.MANUAL,
        requested_by=actor,
        scheduled_for=now,
        not_before=now,
        priority=job.priority,
        job_id=job.id,
    )


def _retry_withdrawn(job: Job, actor: str, now: dt.datetime) -> bool:
    """Cancel the job's waiting retry: it would only meet again what is confirmed now."""
    waiting = Run.objects.filter(job=job, state=RunState.QUEUED, admitted_at__isnull=True, trigger=Trigger.RETRY)
    retry = waiting.first()
    if retry is None or transitions.request_cancel(retry.id, CancelOrigin.USER, actor, now=now) is None:
        return False
    _audit_cancel(retry, Run.objects.get(id=retry.id), actor, now)
    return True


def _operation(
    kind: RunKind, repository: Repository, parameters: Mapping[str, Any], actor: str, now: dt.datetime
) -> NewRun:
    return NewRun(
        kind=kind,
        repository_id=repository.id,
        runner_id=group_runner(repository.worker_group, now=now).id,
        trigger=Trigger.MANUAL,
        requested_by=actor,
        scheduled_for=now,
        not_before=now,
        priority=Priority.NORMAL,
        parameters=parameters,
    )


def _refuse_unready(repository: Repository) -> None:
    if repository.state == RepositoryState.ACTIVE:
        return
    why = repository.state_reason or "it has not been opened by a worker yet."
    raise RepositoryNotReadyError(
        f"The repository {repository.name} is not ready: {why}", details={"state": repository.state}
    )


def _active(job: Job, now: dt.datetime) -> JobActiveError:
    run = Run.objects.filter(job=job, state__in=ACTIVE_STATES).first()
    if run is None:
        return JobActiveError(f"The job {job.name} already had a run; it has just ended.", hint="Ask again.")
    why = postponed_sentence(run) if is_postponed(run, now) else held_sentence(run)
    return JobActiveError(
        f"The job {job.name} already has the run {run.id}, which is {phase(run)}{f': {why}' if why else '.'}",
        hint=f"See it with: ./syncova ctl run show {run.id}; or end it with: ./syncova ctl run cancel {run.id}",
        details={"run_id": str(run.id), "state": run.state, "held": run.held_code, "reason": why},
        page_hint="The job's page leads to the run, under its runs: there it is seen and cancelled.",
    )
