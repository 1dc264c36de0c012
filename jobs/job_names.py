"""Names of other jobs, as who reads may know them: what a job waits for may lie where they see nothing (7.8).

Owns the neutral words. Texts that are kept for all readers are made within `told_to_group`.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from django.utils.translation import gettext as _

from jobs.models import Job, JobDependency, Run
from jobs.states import HeldCode
from syncova_project.access.visibility import limit_sight, sees, unlimited_sight, visible_groups, within_sight

# What holds a run is then another job, whose name is the subject.
_BY_JOB: Final = frozenset(
    {
        HeldCode.DEPENDENCY,
        HeldCode.DEPENDENCY_FAILED,
        HeldCode.DEPENDENCY_NEVER_RAN,
        HeldCode.DEPENDENCY_PAUSED,
    }
)


def another_job() -> str:
    """Return what stands in place of the name of a job that the caller does not see."""
    return _("another job")


@contextmanager
def told_to_group(worker_group: str) -> Iterator[None]:
    """See within the block what somebody sees who sees this group alone: a kept text is for all who see its run."""
    with unlimited_sight():
        limit_sight(frozenset({worker_group}))
        yield


def waited_for(run: Run) -> str:
    """Return the name of the job that a run waits for, "" where the caller does not see that job."""
    if visible_groups() is None:
        return run.held_subject
    named = Job.objects.filter(name=run.held_subject, deleted_at__isnull=True)
    return run.held_subject if within_sight(named, "repository__worker_group").exists() else ""


def held_subject(run: Run) -> str:
    """Return what a run waits for by its name, as the caller may know it."""
    return waited_for(run) or another_job() if run.held_code in _BY_JOB else run.held_subject


def predecessor_name(dependency: JobDependency) -> str:
    """Return the name of a predecessor that was loaded with its repository."""
    job = dependency.predecessor
    return job.name if sees(job.repository.worker_group) else another_job()


def names_of(job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the names of jobs by their ids, deleted ones as well."""
    rows = Job.objects.filter(id__in=job_ids).values_list("id", "name", "repository__worker_group")
    return {job_id: name if sees(group) else another_job() for job_id, name, group in rows}
