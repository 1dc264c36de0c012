"""Changing a job (E6): one transaction from the lock to the revision, and no instant lost or doubled by it (5.9).

Owns the order of a change. Locks: windows, graph of dependencies where it is changed, job, schedules, runs. A rename
touches no schedule, so that it swallows no run that is due; a changed schedule is claimed under its old plan first.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from jobs.doorbell import request_pass
from jobs.errors import JobActiveError
from jobs.models import Job, JobSource, Run
from jobs.objectives import plans_of, refuse_broken_rpo
from jobs.postponed import recompute_waiting, stuck_jobs
from jobs.revisions import snapshot_of, state_of
from jobs.selectors import phase
from jobs.services.dependencies import lock_with_predecessors, replace_dependencies
from jobs.services.job_rows import lock_job, place_sources, ready_repository, save_job
from jobs.services.job_trail import write_down
from jobs.services.job_windows import replace_windows
from jobs.services.new_job import (
    NewJob,
    SourceInput,
    check_hooks,
    check_policy,
    checked_name,
    checked_sources,
    parsed_schedules,
)
from jobs.services.runners import group_runner
from jobs.services.schedule_pairs import only_schedule, paired, split_ids
from jobs.services.schedules import change_schedules, lock_schedules
from jobs.states import ACTIVE_STATES, HeldCode, RunState
from jobs.window_rows import change_windows, current_rules, plan_by_windows
from repositories.models import Repository
from syncova_project.errors import ValidationFailedError
from syncova_project.plain_names import NOT_PLAIN, is_plain
from syncova_project.preconditions import Condition

# Columns of a job that are sent as they are kept.
PLAIN: Final = (
    "priority",
    "bandwidth_limit_bps",
    "strict",
    "max_attempts",
    "rpo_seconds",
    "start_deadline_seconds",
    "max_runtime_seconds",
)
# What an objective depends on; a change of anything else is not refused for one that a window has broken since.
_OF_OBJECTIVE: Final = frozenset({"rpo_seconds", "schedule", "schedules", "repository_id", "windows"})


def job_change(
    *, job_id: uuid.UUID, fields: Mapping[str, Any], condition: Condition, actor: str, now: dt.datetime
) -> Job:
    """Change what `fields` name, by the names of NewJob; `schedule` is the only one, `windows` are the job's own.
    Without a difference, nothing.

    Raises JobNotFoundError, PreconditionFailedError, ScheduleAmbiguousError, JobActiveError where it would move to
    another repository while a run is on, DependencyCycleError, and what `job_create` raises.
    """
    with transaction.atomic():
        job, predecessors = _lock(job_id, fields)
        condition.check(job.revision_number, f"the job {job.name}", state_of(job))
        before = snapshot_of(job)
        _apply(job, fields, actor, now)
        if "depends_on" in fields:
            replace_dependencies(job, predecessors, now=now)
        write_down(job, before, actor, now)
    request_pass()
    return job


def _lock(job_id: uuid.UUID, fields: Mapping[str, Any]) -> tuple[Job, list[Job]]:
    """Lock what the change needs, the windows first: shared they cannot be changed, and a shared lock never grows."""
    stuck: set[uuid.UUID] = set()
    if "windows" in fields:
        change_windows()
        stuck = stuck_jobs()
    else:
        plan_by_windows()
    if "depends_on" in fields:
        return lock_with_predecessors(job_id, fields["depends_on"], beside=stuck)
    return lock_job(job_id, beside=stuck), []


def _apply(job: Job, fields: Mapping[str, Any], actor: str, now: dt.datetime) -> None:
    wanted = _as_wanted(job, fields)
    check_policy(wanted)
    check_hooks(wanted)
    # Before anything else changes: what is due is claimed as the job was when it became due.
    _change_schedules(job, fields, actor, now)
    moves = wanted.repository_id != job.repository_id
    _take_over(job, wanted)
    if moves:
        _move(job, wanted.repository_id, now)
    save_job(job, insert=False)
    if moves or "sources" in fields:
        sources = wanted.sources if "sources" in fields else _sources_of(job)
        place_sources(job, checked_sources(sources, job.runner, job.repository), now=now)
    _align_waiting(job, moved=moves, now=now)
    if "windows" in fields:
        replace_windows(job, fields["windows"], actor=actor, now=now)
    if not _OF_OBJECTIVE.isdisjoint(fields):
        refuse_broken_rpo(job, plans_of(job), now=now)


def _as_wanted(job: Job, fields: Mapping[str, Any]) -> NewJob:
    """Return the job as it is to be, but for its schedules and what it waits for."""
    hooks = [(one["moment"], one["name"]) for one in job.hooks]
    plain = {name: fields.get(name, getattr(job, name)) for name in PLAIN}
    return NewJob(
        name=_name(job, fields),
        repository_id=fields.get("repository_id", job.repository_id),
        sources=fields.get("sources", ()),
        hooks=fields.get("hooks", hooks),
        **plain,
    )


def _name(job: Job, fields: Mapping[str, Any]) -> str:
    """Return the name that the job is to have; one that could not be given anew stays where nobody changes it."""
    name = checked_name(fields.get("name", job.name))
    if name != job.name and not is_plain(name):
        raise ValidationFailedError(f"name: {NOT_PLAIN}", details={"name": NOT_PLAIN})
    return name


def _take_over(job: Job, wanted: NewJob) -> None:
    job.name = wanted.name
    job.hooks = [{"moment": str(moment), "name": hook} for moment, hook in wanted.hooks]
    for name in PLAIN:
        setattr(job, name, getattr(wanted, name))


def _change_schedules(job: Job, fields: Mapping[str, Any], actor: str, now: dt.datetime) -> None:
    if "schedule" not in fields and "schedules" not in fields:
        return
    rows = lock_schedules(job)
    if "schedule" in fields:
        plain, ids = [fields["schedule"]], only_schedule(rows)
    else:
        plain, ids = split_ids(fields["schedules"])
    change_schedules(job, paired(rows, parsed_schedules(plain, now=now), ids), actor, now=now)


def _move(job: Job, repository_id: uuid.UUID, now: dt.datetime) -> None:
    """Let the job keep its backups elsewhere; a run that is on has its repository open and would be retried there."""
    active = Run.objects.filter(job=job, state__in=ACTIVE_STATES)
    run = active.exclude(state=RunState.QUEUED, admitted_at__isnull=True).first()
    if run is not None:
        raise JobActiveError(
            f"The job {job.name} cannot move to another repository: its run {run.id} is {phase(run)}.",
            hint=f"Wait for its end, or end it with: ./syncova ctl run cancel {run.id}",
            details={"run_id": str(run.id), "state": run.state},
        )
    repository: Repository = ready_repository(repository_id)
    job.repository = repository
    job.runner = group_runner(repository.worker_group, now=now)


def _sources_of(job: Job) -> Sequence[SourceInput]:
    places = JobSource.objects.filter(job=job).select_related("source").order_by("position")
    return [
        SourceInput(bytes(place.source.normalised_id), place.source.type, tuple(place.excludes)) for place in places
    ]


def _align_waiting(job: Job, *, moved: bool, now: dt.datetime) -> None:
    """Let the job's waiting run wait as the job is now; an admitted one keeps the revision that it has."""
    waiting = Run.objects.filter(job=job, state=RunState.QUEUED, admitted_at__isnull=True)
    waiting.exclude(priority=job.priority).update(priority=job.priority)
    if not moved:
        return
    waiting.update(repository=job.repository, runner=job.runner)
    # What held it there is not what holds it here: the next pass looks.
    waiting.exclude(held_code=HeldCode.WINDOW).update(held_code="", held_subject="", held_since=None)
    recompute_waiting(current_rules(), now=now, job_id=job.id)
