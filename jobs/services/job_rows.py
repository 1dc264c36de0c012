"""The rows of one job as its services lock, check and write them: the job's own, its sources, its trail.

Owns what making and changing a job share. The caller's transaction; locks in the order job, schedule, repository.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Sequence

from django.db import IntegrityError, transaction

from jobs import transitions
from jobs.errors import JobNameTakenError, RepositoryNotReadyError
from jobs.models import Job, JobSource, Run
from jobs.selectors import missing_job
from jobs.services.new_job import SourceInput
from jobs.services.runners import source_rows
from jobs.states import CancelOrigin, RunState
from repositories.models import Repository
from repositories.selectors import accepts_backups
from syncova_project.access.services import audit_record
from syncova_project.access.visibility import within_sight
from syncova_project.errors import ValidationFailedError


def lock_job(job_id: uuid.UUID, *, beside: Iterable[uuid.UUID] = ()) -> Job:
    """Lock a job that is not deleted, with others that are to be locked as well; raises JobNotFoundError."""
    job = lock_jobs({job_id, *beside}).get(job_id)
    if job is None:
        raise missing_job(job_id)
    return job


def lock_jobs(job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Job]:
    """Lock those of the jobs that are not deleted; who needs several asks once, so that nobody waits in a ring."""
    kept = Job.objects.select_for_update(no_key=True).filter(id__in=job_ids, deleted_at__isnull=True)
    return {job.id: job for job in kept.order_by("id")}


def seen_repository(repository_id: uuid.UUID) -> Repository:
    """Return a repository that a body names and its sender sees; raises ValidationFailedError."""
    repository = within_sight(Repository.objects.filter(id=repository_id), "worker_group").first()
    if repository is None:
        raise ValidationFailedError(
            "repository_id: there is no such repository.", details={"repository_id": "there is no such repository."}
        )
    return repository


def ready_repository(repository_id: uuid.UUID) -> Repository:
    """Return a repository that takes backups; raises ValidationFailedError or RepositoryNotReadyError."""
    repository = seen_repository(repository_id)
    accepted, why = accepts_backups(repository)
    if not accepted:
        raise RepositoryNotReadyError(f"The repository {repository.name} takes no backups: {why}")
    return repository


def save_job(job: Job, *, insert: bool) -> None:
    """Write the job's own row; raises JobNameTakenError, which names the job that has the name."""
    try:
        with transaction.atomic():
            job.save(force_insert=insert)
    except IntegrityError as error:
        known = taken_by(job.name, job.id)
        if known is None:
            raise
        raise name_taken(known, job.name) from error


def taken_by(name: str, job_id: uuid.UUID | None = None) -> Job | None:
    """Return another kept job with this name, whatever its case."""
    named = Job.objects.filter(name__iexact=name, deleted_at__isnull=True)
    return (named if job_id is None else named.exclude(id=job_id)).first()


def name_taken(known: Job, name: str) -> JobNameTakenError:
    """Return the error that names the job which has the name."""
    hint = "Choose another name." if known.name == name else "Choose another name: capitals alone make none."
    return JobNameTakenError(f"There is already a job named {known.name!r}.", hint=hint)


def place_sources(job: Job, sources: Sequence[SourceInput], *, now: dt.datetime) -> None:
    """Let the job back up exactly these checked sources, in their order, by its runner."""
    rows = source_rows(job.runner, sources, now=now)
    JobSource.objects.filter(job=job).delete()
    JobSource.objects.bulk_create(
        JobSource(job=job, source=row, position=position, excludes=list(source.excludes))
        for position, (row, source) in enumerate(zip(rows, sources, strict=True))
    )


def audit_job(job: Job, action: str, actor: str, now: dt.datetime, **told: object) -> None:
    """Write the trail's entry of a change of the job."""
    details = {"name": job.name, **told}
    audit_record(actor=actor, action=action, subject_type="job", subject_id=job.id, now=now, details=details)


def cancel_runs(job: Job, states: Sequence[RunState], origin: CancelOrigin, actor: str, now: dt.datetime) -> None:
    """Cancel the job's queued runs at once, ask its running one to stop, of those in `states`."""
    for run_id in Run.objects.filter(job=job, state__in=states).values_list("id", flat=True):
        transitions.request_cancel(run_id, origin, actor, now=now)
