"""What the end of a run comes to beside its state: its columns, its job's last result, and the run that follows it.

Owns these values for jobs.transitions, which writes the state in the same transaction. Must not write a run.
"""

import datetime as dt
import random
from dataclasses import replace
from typing import Any, Final

from django.conf import settings

from jobs.executors import Failure
from jobs.models import Job, Run
from jobs.retries import RetryPolicy, operation_attempts
from jobs.revisions import read_revision
from jobs.states import CancelOrigin, FailureClass, RunKind, RunState
from jobs.successors import EndedRun, NewRun, successor
from jobs.unrun_hooks import undone_by, undone_sentence
from jobs.verdict import Verdict

_FIGURES: Final = ("files", "skipped", "warnings", "logical_bytes", "bytes_read", "bytes_stored")
_jitter = random.SystemRandom()


def follower(run: Run, job: Job | None, verdict: Verdict, *, now: dt.datetime) -> NewRun | None:
    """Return the run to queue after this one, None where the chain ends or its job is paused or deleted."""
    if job is not None and (job.deleted_at is not None or job.paused_at is not None):
        return None
    attempts = job.max_attempts if job is not None else operation_attempts(RunKind(run.kind))
    policy = RetryPolicy(max_attempts=attempts, first_delay=settings.SYNCOVA_RETRY_SECONDS)
    return successor(_ended(run), verdict, policy, now=now, jitter=_jitter.random())


def with_follower(verdict: Verdict, following: NewRun | None) -> Verdict:
    """Return the verdict of a run that a shutdown ended with whether it is queued again, since its sentence says so."""
    if verdict.state is not RunState.CANCELLED or verdict.cancel_origin is not CancelOrigin.SHUTDOWN:
        return verdict
    return replace(verdict, reason_parameters={**verdict.reason_parameters, "requeued": following is not None})


def columns(run: Run, verdict: Verdict, actor: str, *, now: dt.datetime) -> dict[str, Any]:
    """Return the columns of a run that tell of its verdict."""
    told: dict[str, Any] = {name: getattr(verdict.figures, name) for name in _FIGURES}
    told |= {"reason_code": verdict.reason_code, "reason_parameters": dict(verdict.reason_parameters)}
    if verdict.failure is not None:
        failure = verdict.failure
        told |= {"failure_class": failure.failure_class, "error_code": failure.code}
        told |= {"error_message": failure.message, "error_hint": failure.hint}
    if verdict.cancel_origin is not None:
        told |= {"cancel_origin": verdict.cancel_origin, "cancel_requested_at": run.cancel_requested_at or now}
        told |= {"cancelled_by": run.cancelled_by or actor}
    return told


def note_last(job: Job, run: Run, verdict: Verdict, *, now: dt.datetime) -> None:
    """Write a job's last result, so that lists need no history."""
    last: dict[str, Any] = {"last_run_id": run.id, "last_state": verdict.state, "last_finished_at": now}
    if verdict.state is RunState.SUCCEEDED:
        last["last_succeeded_at"] = now
    Job.objects.filter(id=job.id).update(**last)


def lost(run: Run, what: str) -> Verdict:
    """Return the verdict over a run whose worker is silent or gone: `what` says which of them (A15).

    Its reason and its event name the hooks that nobody runs now.
    """
    undone = undone_by(read_revision(run.revision).hooks) if run.revision is not None else {}
    if run.cancel_requested_at is not None:
        return Verdict(RunState.CANCELLED, "worker_lost", undone, cancel_origin=CancelOrigin(run.cancel_origin))
    message = f"The worker {run.worker} {what} {run.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC.{undone_sentence(undone)}"
    failure = Failure("WORKER_LOST", message, FailureClass.TRANSIENT, hint="The run is tried again by its policy.")
    return Verdict(RunState.FAILED, "worker_lost", undone, failure=failure)


def _ended(run: Run) -> EndedRun:
    return EndedRun(
        id=run.id,
        root_run_id=run.root_run_id,
        attempt=run.attempt,
        requeues=run.requeues,
        kind=RunKind(run.kind),
        repository_id=run.repository_id,
        runner_id=run.runner_id,
        job_id=run.job_id,
        schedule_id=run.schedule_id,
        scheduled_for=run.scheduled_for,
        priority=run.priority,
        requested_by=run.requested_by,
        parameters=run.parameters,
        accept_new_root=run.accept_new_root,
        ignore_windows=run.ignore_windows,
        ignore_dependencies=run.ignore_dependencies,
    )
