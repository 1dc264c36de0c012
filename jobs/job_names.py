"""Names of other jobs, as who reads may know them: what a job waits for may lie where they see nothing (7.8).

Owns the neutral words. Texts that are kept for all readers are made within `told_to_group`.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.utils.translation import gettext as _

from jobs.models import Job, JobDependency, Run
from jobs.states import HeldCode
from syncova_project.access.visibility import limit_sight, sees, unlimited_sight, visible_groups, within_sight

# What an audit entry tells of a job, each with the fields that are told.
_STATES: Final = ("before", "after")
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


def dependencies_json(dependencies: Sequence[JobDependency]) -> dict[str, Any]:
    """Return what a job waits for, loaded with its repositories; of what the caller does not see, the number alone."""
    jobs = [one.predecessor for one in dependencies]
    shown = [{"id": str(job.id), "name": job.name} for job in jobs if sees(job.repository.worker_group)]
    return {"depends_on": shown, "unseen_dependencies": len(jobs) - len(shown)}


def shown_snapshots(snapshots: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return snapshots of revisions without the ids of jobs that the caller does not see; their number is beside."""
    found = Job.objects.filter(id__in={one for snapshot in snapshots for one in snapshot.get("depends_on", ())})
    seen = set(map(str, within_sight(found, "repository__worker_group").values_list("id", flat=True)))
    return [_shown_snapshot(snapshot, seen) for snapshot in snapshots]


def shown_details(details: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return details of audit entries of jobs, ids of jobs that the caller does not see as `another_job`."""
    named = {one for each in details for state in _STATES for one in _waits_for(each, state)}
    found = Job.objects.filter(id__in={one for one in named if _is_id(one)})
    seen = set(map(str, within_sight(found, "repository__worker_group").values_list("id", flat=True)))
    hidden = {one for one in named if _is_id(one)} - seen
    return [_without(each, hidden) for each in details]


def names_of(job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the names of jobs by their ids, deleted ones as well."""
    rows = Job.objects.filter(id__in=job_ids).values_list("id", "name", "repository__worker_group")
    return {job_id: name if sees(group) else another_job() for job_id, name, group in rows}


def _shown_snapshot(snapshot: Mapping[str, Any], seen: Collection[str]) -> dict[str, Any]:
    ids = snapshot.get("depends_on", [])
    shown = [one for one in ids if one in seen]
    # Revisions from before there were dependencies name none.
    unseen = {"unseen_dependencies": len(ids) - len(shown)}
    return {**snapshot, "depends_on": shown, **unseen} if len(ids) > len(shown) else dict(snapshot)


def _without(details: Mapping[str, Any], hidden: Collection[str]) -> Mapping[str, Any]:
    changed = {
        state: {**details[state], "depends_on": [another_job() if one in hidden else one for one in ids]}
        for state in _STATES
        if (ids := _waits_for(details, state))
    }
    return {**details, **changed}


def _waits_for(details: Mapping[str, Any], state: str) -> list[str]:
    """Return what an entry says that the job waits for; one from before ids were kept has words that all may read."""
    told = details.get(state)
    ids = told.get("depends_on") if isinstance(told, Mapping) else None
    return ids if isinstance(ids, list) else []


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
