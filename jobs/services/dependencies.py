"""Saying which jobs a job waits for (C4): all of them at once, with no cycle, also across two edits at the same time.

Owns the rows of `job_dependencies`. What the caller does not see stays: it was not shown, so nobody left it out.
The lock of the graph comes before the jobs', and those in the order of their ids.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from django.db import transaction

from jobs.dependencies import all_edges, lock_graph, path_to
from jobs.doorbell import request_pass
from jobs.errors import DependencyCycleError, no_such_job
from jobs.job_names import names_of
from jobs.models import Job, JobDependency
from jobs.revisions import write_revision
from jobs.services.job_rows import audit_job, lock_jobs
from jobs.services.new_job import MAX_DEPENDENCIES
from syncova_project.access.visibility import sees, visible_groups, within_sight
from syncova_project.errors import ValidationFailedError

_FIELD: Final = "depends_on"


def job_depend(*, job_id: uuid.UUID, depends_on: Sequence[uuid.UUID], actor: str, now: dt.datetime) -> Job:
    """Let a job wait for exactly these, and for what the caller does not see; what waits is looked at again at once.

    A change makes a revision. Raises JobNotFoundError, ValidationFailedError naming what is no job, or
    DependencyCycleError naming the way round.
    """
    with transaction.atomic():
        job, predecessors = lock_with_predecessors(job_id, depends_on)
        before = list(JobDependency.objects.filter(job=job).values_list("predecessor_id", flat=True))
        if replace_dependencies(job, predecessors, now=now):
            _write_revision(job, actor, now, before=before)
    request_pass()
    return job


def lock_with_predecessors(
    job_id: uuid.UUID, depends_on: Sequence[uuid.UUID], *, beside: Iterable[uuid.UUID] = ()
) -> tuple[Job, list[Job]]:
    """Lock a job, those that it is to wait for and those `beside`; the caller's transaction has locked no job before.

    Raises JobNotFoundError, or ValidationFailedError naming what is no job.
    """
    lock_graph()
    # One statement locks both sides, in one order: two edits that name each other's jobs never wait in a ring.
    jobs = lock_jobs({job_id, *depends_on, *beside})
    if job_id not in jobs:
        raise no_such_job(job_id)
    return jobs[job_id], _wanted(depends_on, jobs)


def replace_dependencies(job: Job, predecessors: Sequence[Job], *, now: dt.datetime) -> bool:
    """Let a locked job wait for these locked ones, and for what it waited for that the caller does not see.

    False: it did already. Raises DependencyCycleError.
    """
    shown = within_sight(JobDependency.objects.filter(job=job), "predecessor__repository__worker_group")
    if set(shown.values_list("predecessor_id", flat=True)) == {one.id for one in predecessors}:
        return False
    _refuse_cycle(job, predecessors)
    shown.delete()
    add_dependencies(job, predecessors, now=now)
    return True


def lock_predecessors(depends_on: Sequence[uuid.UUID], *, beside: Iterable[uuid.UUID] = ()) -> list[Job]:
    """Lock the jobs that a new one is to wait for, so that none is deleted meanwhile, and those `beside`."""
    if depends_on:
        lock_graph()
    return _wanted(depends_on, lock_jobs({*depends_on, *beside}))


def add_dependencies(job: Job, predecessors: Iterable[Job], *, now: dt.datetime) -> None:
    """Insert the rows of locked predecessors."""
    JobDependency.objects.bulk_create(
        JobDependency(job=job, predecessor=predecessor, created_at=now) for predecessor in predecessors
    )


def _wanted(depends_on: Sequence[uuid.UUID], jobs: dict[uuid.UUID, Job]) -> list[Job]:
    """Return each named job once."""
    if len(depends_on) > MAX_DEPENDENCIES:
        raise _invalid(f"must be at most {MAX_DEPENDENCIES} jobs.")
    unknown = {
        f"{_FIELD}.{position}": f"there is no job {one}."
        for position, one in enumerate(depends_on)
        if one not in jobs or not _is_seen(jobs[one])
    }
    if unknown:
        raise ValidationFailedError("; ".join(f"{name}: {told}" for name, told in unknown.items()), details=unknown)
    return [jobs[one] for one in dict.fromkeys(depends_on)]


def _is_seen(job: Job) -> bool:
    return visible_groups() is None or sees(job.repository.worker_group)


def _refuse_cycle(job: Job, predecessors: Sequence[Job]) -> None:
    edges = dict(all_edges())
    # What the job waits for now is being replaced; it must not stand in the way of its own mending.
    edges[job.id] = []
    for predecessor in predecessors:
        way = path_to(job.id, predecessor.id, edges)
        if way:
            raise _cycle([job.id, *way])


def _cycle(way: Sequence[uuid.UUID]) -> DependencyCycleError:
    known = names_of(set(way))
    names = [known[one] for one in way]
    return DependencyCycleError(
        f"The job {names[0]} would wait for itself: {' → '.join(names)}.",
        hint="Each arrow reads 'waits for'; leave one of them out.",
        details={"jobs": names},
    )


def _write_revision(job: Job, actor: str, now: dt.datetime, *, before: Sequence[uuid.UUID]) -> None:
    job.revision_number += 1
    job.updated_at = now
    job.save(update_fields=["revision_number", "updated_at"])
    write_revision(job, actor, now=now)
    after = JobDependency.objects.filter(job=job).values_list("predecessor_id", flat=True)
    # Ids, of which each reader is shown those of jobs that they see (jobs.job_names).
    told = {state: {"depends_on": sorted(map(str, ids))} for state, ids in (("before", before), ("after", after))}
    audit_job(job, "job.depend", actor, now, revision=job.revision_number, **told)


def _invalid(sentence: str) -> ValidationFailedError:
    return ValidationFailedError(f"{_FIELD}: {sentence}", details={_FIELD: sentence})
