"""Making, pausing, resuming and deleting jobs. Each locks the job first, then its schedules, then its runs.

Owns these four writes. A pause cancels what waits and lets what runs go on; a deletion ends both (execution.md, 4).
"""

import datetime as dt
import uuid
from collections.abc import Sequence

from django.db import IntegrityError, transaction

from jobs import calendar, decisions, transitions
from jobs.doorbell import request_pass
from jobs.errors import JobNameTakenError, JobNeededError, RepositoryNotReadyError, no_such_job
from jobs.flags import plan_or_flag
from jobs.models import Job, JobDependency, JobSource, Run, Schedule, ScheduleEvent
from jobs.objectives import refuse_broken_rpo
from jobs.planning import columns_of
from jobs.revisions import write_revision
from jobs.services.dependencies import add_dependencies, lock_predecessors
from jobs.services.new_job import (
    NewJob,
    NewSchedule,
    check_hooks,
    check_policy,
    checked_name,
    checked_sources,
    parsed_schedules,
)
from jobs.services.runners import group_runner, source_rows
from jobs.states import CancelOrigin, DecisionOutcome, RunState
from repositories.identifiers import new_id
from repositories.models import Repository
from repositories.selectors import accepts_backups
from syncova_project.access.services import audit_record
from syncova_project.errors import ValidationFailedError


def job_create(new: NewJob, *, actor: str, now: dt.datetime) -> Job:
    """Make a job with its sources, schedules and first revision; its next instants are computed at once (E3).

    Raises ValidationFailedError (naming fields), SourceNotAllowedError, RepositoryNotReadyError, JobNameTakenError.
    A new job closes no cycle: nothing can wait for it yet.
    """
    name = checked_name(new.name)
    check_policy(new)
    check_hooks(new)
    schedules = parsed_schedules(new.schedules, now=now)
    with transaction.atomic():
        repository = _ready_repository(new.repository_id)
        predecessors = lock_predecessors(new.depends_on)
        runner = group_runner(repository.worker_group, now=now)
        sources = checked_sources(new.sources, runner, repository)
        job = _insert_job(new, name, runner.id, now)
        rows = source_rows(runner, sources, now=now)
        JobSource.objects.bulk_create(
            JobSource(job=job, source=row, position=position, excludes=list(source.excludes))
            for position, (row, source) in enumerate(zip(rows, sources, strict=True))
        )
        add_dependencies(job, predecessors, now=now)
        if new.rpo_seconds is not None:
            refuse_broken_rpo(job, [one.plan for one in schedules], now=now)
        _insert_schedules(job, schedules, actor, now)
        write_revision(job, actor, now=now)
        _audit(job, "job.create", actor, now)
    return job


def job_pause(*, job_id: uuid.UUID, actor: str, now: dt.datetime) -> Job:
    """Claim nothing more and cancel what waits; what runs goes on. Pausing a paused job changes nothing."""
    with transaction.atomic():
        job = _lock_job(job_id)
        if job.paused_at is None:
            job.paused_at = job.updated_at = now
            job.save(update_fields=["paused_at", "updated_at"])
            _tell_schedules(job, "paused", actor, now)
            _audit(job, "job.pause", actor, now)
        _cancel(job, (RunState.QUEUED,), CancelOrigin.JOB_PAUSED, actor, now)
    return job


def job_resume(*, job_id: uuid.UUID, actor: str, now: dt.datetime) -> Job:
    """Plan from now on; what was due meanwhile becomes one decision a schedule and does not fire at once (E3)."""
    with transaction.atomic():
        job = _lock_job(job_id)
        if job.paused_at is not None:
            job.paused_at, job.updated_at = None, now
            job.save(update_fields=["paused_at", "updated_at"])
            for schedule in _lock_schedules(job):
                _plan_anew(schedule, now)
            _tell_schedules(job, "resumed", actor, now)
            _audit(job, "job.resume", actor, now)
    request_pass()
    return job


def job_delete(*, job_id: uuid.UUID, actor: str, now: dt.datetime) -> Job:
    """Delete softly: runs stay as proof (D3), waiting ones are cancelled, a running one is asked to stop.

    Raises JobNeededError naming the jobs that depend on this one.
    """
    with transaction.atomic():
        job = _lock_job(job_id)
        _refuse_needed(job)
        for schedule in _lock_schedules(job):
            _end_schedule(schedule, now)
        _tell_schedules(job, "deleted", actor, now)
        job.deleted_at = job.updated_at = now
        job.save(update_fields=["deleted_at", "updated_at"])
        Schedule.objects.filter(job=job, deleted_at__isnull=True).update(deleted_at=now, next_at=None)
        _cancel(job, (RunState.QUEUED, RunState.RUNNING), CancelOrigin.JOB_DELETED, actor, now)
        _audit(job, "job.delete", actor, now)
    return job


def _ready_repository(repository_id: uuid.UUID) -> Repository:
    repository = Repository.objects.filter(id=repository_id).first()
    if repository is None:
        raise ValidationFailedError(
            "repository_id: there is no such repository.", details={"repository_id": "there is no such repository."}
        )
    accepted, why = accepts_backups(repository)
    if not accepted:
        raise RepositoryNotReadyError(f"The repository {repository.name} takes no backups: {why}")
    return repository


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
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError as error:
        known = Job.objects.filter(name__iexact=name, deleted_at__isnull=True).first()
        if known is None:
            raise
        hint = "Choose another name." if known.name == name else "Choose another name: capitals alone make none."
        raise JobNameTakenError(f"There is already a job named {known.name!r}.", hint=hint) from error
    return job


def _insert_schedules(job: Job, schedules: Sequence[NewSchedule], actor: str, now: dt.datetime) -> None:
    for one in schedules:
        plan = one.plan
        following = plan.next_after(now)
        schedule = Schedule.objects.create(
            id=new_id(now),
            job=job,
            kind=plan.kind,
            definition=dict(plan.definition()),
            anchor=now,
            fingerprint=calendar.fingerprint(plan, anchor=now),
            **columns_of(following),
            missed=one.missed,
            missed_within_seconds=one.missed_within_seconds,
            created_at=now,
        )
        ScheduleEvent.objects.create(schedule=schedule, at=now, code="created", actor=actor)


def _lock_job(job_id: uuid.UUID) -> Job:
    kept = Job.objects.select_for_update(no_key=True).filter(id=job_id, deleted_at__isnull=True)
    job = kept.first()
    if job is None:
        raise no_such_job(job_id)
    return job


def _lock_schedules(job: Job) -> list[Schedule]:
    kept = Schedule.objects.select_for_update(no_key=True).filter(job=job, deleted_at__isnull=True)
    return list(kept.order_by("id"))


def _plan_anew(schedule: Schedule, now: dt.datetime) -> None:
    """Write what the pause swallowed and plan from now; an interval's grid begins anew."""
    plan = plan_or_flag(schedule, now=now)
    if plan is None:
        return
    decisions.decide_due(schedule, plan, DecisionOutcome.PAUSED, "job_paused", now=now)
    renewed = calendar.parse(schedule.definition, anchor=now)
    following = renewed.next_after(now)
    Schedule.objects.filter(id=schedule.id).update(
        anchor=now,
        fingerprint=calendar.fingerprint(renewed, anchor=now),
        **columns_of(following),
    )


def _end_schedule(schedule: Schedule, now: dt.datetime) -> None:
    plan = plan_or_flag(schedule, now=now)
    if plan is None:
        return
    # What passed during a pause was kept from running by the pause.
    is_paused = schedule.job.paused_at is not None
    outcome, reason = (DecisionOutcome.PAUSED, "job_paused") if is_paused else (DecisionOutcome.SKIPPED, "job_deleted")
    decisions.decide_due(schedule, plan, outcome, reason, now=now)


def _refuse_needed(job: Job) -> None:
    needing = JobDependency.objects.filter(predecessor=job, job__deleted_at__isnull=True)
    names = list(needing.order_by("job__name").values_list("job__name", flat=True))
    if names:
        raise JobNeededError(
            f"Other jobs wait for {job.name}: {', '.join(names)}.",
            hint="Remove the dependency from them first.",
            details={"jobs": names},
        )


def _tell_schedules(job: Job, code: str, actor: str, now: dt.datetime) -> None:
    kept = Schedule.objects.filter(job=job, deleted_at__isnull=True)
    ScheduleEvent.objects.bulk_create(ScheduleEvent(schedule=one, at=now, code=code, actor=actor) for one in kept)


def _audit(job: Job, action: str, actor: str, now: dt.datetime) -> None:
    audit_record(actor=actor, action=action, subject_type="job", subject_id=job.id, now=now, details={"name": job.name})


def _cancel(job: Job, states: Sequence[RunState], origin: CancelOrigin, actor: str, now: dt.datetime) -> None:
    for run_id in Run.objects.filter(job=job, state__in=states).values_list("id", flat=True):
        transitions.request_cancel(run_id, origin, actor, now=now)
