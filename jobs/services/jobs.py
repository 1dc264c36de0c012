"""Making, pausing, resuming and deleting jobs. Each locks the job first, then its schedules, then its runs.

Owns these four writes. A pause cancels what waits and lets what runs go on; a deletion ends both (execution.md, 4).
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from jobs import claims
from jobs.doorbell import request_pass
from jobs.errors import JobNeededError
from jobs.job_names import names_of
from jobs.models import Job, JobDependency
from jobs.objectives import refuse_broken_rpo
from jobs.postponed import stuck_jobs
from jobs.revisions import snapshot_of, state_of
from jobs.services.dependencies import add_dependencies, lock_predecessors
from jobs.services.job_rows import audit_job, cancel_runs, lock_job, place_sources, ready_repository, save_job
from jobs.services.job_trail import write_deleted, write_made
from jobs.services.job_windows import make_windows, own_rules
from jobs.services.new_job import (
    NewJob,
    check_hooks,
    check_policy,
    checked_name,
    checked_sources,
    parsed_schedules,
)
from jobs.services.runners import group_runner
from jobs.services.schedules import (
    end_schedules,
    insert_schedules,
    lock_schedules,
    plan_anew,
    tell_schedules,
    write_off,
)
from jobs.states import CancelOrigin, RunState
from jobs.window_rows import change_windows, plan_by_windows
from repositories.identifiers import new_id
from syncova_project.access.visibility import within_sight
from syncova_project.instants import instant
from syncova_project.preconditions import ANY_STATE, Condition

_NEEDED_UNSEEN: Final = "Remove the dependency from them first; somebody who sees all of them can."


def job_create(new: NewJob, *, actor: str, now: dt.datetime, windows: Sequence[Mapping[str, Any]] = ()) -> Job:
    """Make a job with its sources, schedules and first revision; its next instants are computed at once (E3).

    `windows` are made with it, each as the API takes it, and its objective is judged by them as well.

    Raises ValidationFailedError (naming fields), SourceNotAllowedError, RepositoryNotReadyError, JobNameTakenError.
    A new job closes no cycle: nothing can wait for it yet.
    """
    name = checked_name(new.name)
    check_policy(new)
    check_hooks(new)
    schedules, own = parsed_schedules(new.schedules, now=now), own_rules(windows)
    with transaction.atomic():
        # A window that is being made would else see no job whose objective it breaks, nor the job the window. Two that
        # bring windows of their own along and took this lock later would wait for each other.
        change_windows() if windows else plan_by_windows()
        repository = ready_repository(new.repository_id)
        predecessors = lock_predecessors(new.depends_on, beside=stuck_jobs() if windows else ())
        runner = group_runner(repository.worker_group, now=now)
        sources = checked_sources(new.sources, runner, repository)
        job = _insert_job(new, name, runner.id, now)
        place_sources(job, sources, now=now)
        add_dependencies(job, predecessors, now=now)
        if new.rpo_seconds is not None:
            refuse_broken_rpo(job, [one.plan for one in schedules], now=now, own=own)
        insert_schedules(job, schedules, actor, now=now)
        make_windows(job, windows, actor=actor, now=now)
        write_made(job, actor, now)
    return job


def job_pause(*, job_id: uuid.UUID, actor: str, now: dt.datetime) -> Job:
    """Claim what is due, then nothing more, and cancel what waits; what runs goes on (5.9).

    So each instant before the pause has its account at once: a run cancelled by it, or a decision. Only what a claim
    may not touch, flagged schedules and repositories that are to be indexed again, gets its own later. Pausing a
    paused job claims nothing.
    """
    with transaction.atomic():
        # Claims plan by windows, whose lock comes before the job's.
        plan_by_windows()
        job = lock_job(job_id)
        if job.paused_at is None:
            claims.claim_of_job(job.id, [schedule.id for schedule in lock_schedules(job)], now=now)
            job.paused_at = job.updated_at = now
            job.save(update_fields=["paused_at", "updated_at"])
            tell_schedules(job, "paused", actor, now)
            _audit_standing(job, "job.pause", None, actor, now)
        cancel_runs(job, (RunState.QUEUED,), CancelOrigin.JOB_PAUSED, actor, now)
    return job


def job_resume(*, job_id: uuid.UUID, actor: str, now: dt.datetime) -> Job:
    """Plan from now on; what was due meanwhile becomes one decision a schedule and does not fire at once (E3)."""
    with transaction.atomic():
        job = lock_job(job_id)
        if job.paused_at is not None:
            before, job.paused_at, job.updated_at = job.paused_at, None, now
            job.save(update_fields=["paused_at", "updated_at"])
            for schedule in lock_schedules(job):
                plan_anew(schedule, now)
            tell_schedules(job, "resumed", actor, now)
            _audit_standing(job, "job.resume", before, actor, now)
    request_pass()
    return job


def job_delete(*, job_id: uuid.UUID, actor: str, now: dt.datetime, condition: Condition = ANY_STATE) -> Job:
    """Delete softly: runs stay as proof (D3), waiting ones are cancelled, a running one is asked to stop.

    Raises JobNeededError naming the jobs that depend on this one, or PreconditionFailedError.
    """
    with transaction.atomic():
        job = lock_job(job_id)
        condition.check(job.revision_number, f"the job {job.name}", state_of(job))
        _refuse_needed(job)
        before = snapshot_of(job)
        schedules = lock_schedules(job)
        for schedule in schedules:
            write_off(schedule, "job_deleted", now=now)
        tell_schedules(job, "deleted", actor, now)
        job.deleted_at = job.updated_at = now
        job.save(update_fields=["deleted_at", "updated_at"])
        end_schedules([schedule.id for schedule in schedules], now=now)
        cancel_runs(job, (RunState.QUEUED, RunState.RUNNING), CancelOrigin.JOB_DELETED, actor, now)
        write_deleted(job, before, actor, now)
    return job


def _audit_standing(job: Job, action: str, before: dt.datetime | None, actor: str, now: dt.datetime) -> None:
    told = {"before": {"paused_at": instant(before)}, "after": {"paused_at": instant(job.paused_at)}}
    audit_job(job, action, actor, now, **told)


def _insert_job(new: NewJob, name: str, runner_id: uuid.UUID, now: dt.datetime) -> Job:
    job = Job(
        id=new_id(now),
        name=name,
        repository_id=new.repository_id,
        runner_id=runner_id,
        priority=new.priority,
        bandwidth_limit_bps=new.bandwidth_limit_bps,
        strict=new.strict,
        max_attempts=new.max_attempts,
        rpo_seconds=new.rpo_seconds,
        start_deadline_seconds=new.start_deadline_seconds,
        max_runtime_seconds=new.max_runtime_seconds,
        hooks=[{"moment": str(moment), "name": hook} for moment, hook in new.hooks],
        created_at=now,
        updated_at=now,
    )
    save_job(job, insert=True)
    return job


def _refuse_needed(job: Job) -> None:
    needing = JobDependency.objects.filter(predecessor=job, job__deleted_at__isnull=True)
    names = sorted(names_of(set(needing.values_list("job_id", flat=True))).values())
    unseen = within_sight(needing, "job__repository__worker_group").count() < len(names)
    if names:
        raise JobNeededError(
            f"Other jobs wait for {job.name}: {', '.join(names)}.",
            hint=_NEEDED_UNSEEN if unseen else "Remove the dependency from them first.",
            details={"jobs": names},
        )
