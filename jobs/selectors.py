"""Reads of jobs and runs for the API, the admin and the commands: query sets and the figures beside them.

Owns what is visible and how "next" and "late" are computed. Lists read no history: a job's last result is a column.
"""

import datetime as dt
import uuid
from typing import Any, Final

from django.conf import settings
from django.db.models import Case, Min, OuterRef, QuerySet, Subquery, When

from jobs import calendar
from jobs.errors import JobNotFoundError, job_is_deleted, no_such_job, no_such_run
from jobs.models import Job, Run, RunEvent, Schedule, TaskRun, UpkeepPlan
from jobs.poison import POISON
from jobs.states import BACKUP_GONE, RunState, ScheduleState, Trigger
from repositories.models import Backup, RepositoryFreeze
from syncova_project.access.visibility import within_sight
from syncova_project.errors import SyncovaError

MISSED_BEATS: Final = 3
# As long as workers wait before they write the event `stalled`.
STALLED_AFTER: Final = dt.timedelta(minutes=15)

# A paused job is not due, whatever its schedules planned before the pause.
_PLANNED: Final = Schedule.objects.filter(state=ScheduleState.ACTIVE, deleted_at__isnull=True)
# Asked for each job that is shown: joined and grouped, the schedules of all jobs would be read for one page.
_LEAST: Final = (
    _PLANNED.filter(job=OuterRef("pk")).order_by().values("job").annotate(least=Min("next_at")).values("least")
)
_NEXT_RUN_AT: Final = Case(When(paused_at__isnull=True, then=Subquery(_LEAST)))


def jobs_visible() -> QuerySet[Job]:
    """Return the jobs that are not deleted and that the caller sees, each with `next_run_at`, its least instant."""
    seen = within_sight(Job.objects.filter(deleted_at__isnull=True), "repository__worker_group")
    kept = seen.select_related("repository", "runner")
    return kept.annotate(next_run_at=_NEXT_RUN_AT)


def missing_job(job_id: uuid.UUID) -> JobNotFoundError:
    """Return why there is no such job: the caller sees none, or it was deleted."""
    rows = within_sight(Job.objects.filter(id=job_id, deleted_at__isnull=False), "repository__worker_group")
    job = rows.first()
    if job is None or job.deleted_at is None:
        return no_such_job(job_id)
    return job_is_deleted(job_id, job.name, job.deleted_at)


def schedule_sentence(schedule: Schedule | UpkeepPlan) -> str:
    """Return a schedule in words (B6); a flagged one, that cannot be planned, says so."""
    words, problem = schedule_words(schedule)
    return words or f"cannot be planned: {problem}"


def schedule_words(schedule: Schedule | UpkeepPlan) -> tuple[str, str]:
    """Return a schedule in words and "", or "" and why it cannot be planned: no row's content stops a list (5.6)."""
    try:
        return calendar.parse(schedule.definition, anchor=schedule.anchor).describe(), ""
    except SyncovaError as error:
        return "", error.message
    except POISON as error:
        return "", str(error)


def definition_shown(schedule: Schedule) -> dict[str, Any]:
    """Return the fields of a schedule's JSON; what is no object has none, and its sentence says so."""
    return dict(schedule.definition) if isinstance(schedule.definition, dict) else {"type": schedule.kind}


def runs_visible() -> QuerySet[Run]:
    """Return all runs that the caller sees; those of deleted jobs stay (D3)."""
    seen = within_sight(Run.objects.all(), "repository__worker_group")
    return seen.select_related("job", "repository", "runner", "origin_run")


def run_get(run_id: uuid.UUID) -> Run:
    """Return one run with its revision; raises RunNotFoundError."""
    run = runs_visible().select_related("revision").filter(id=run_id).first()
    if run is None:
        raise no_such_run(run_id)
    return run


def task_runs_of(run: Run) -> QuerySet[TaskRun]:
    """Return what became of each source of a run, in the job's order."""
    return TaskRun.objects.filter(run=run).select_related("source").order_by("position")


def events_of(run: Run) -> QuerySet[RunEvent]:
    """Return a run's moves, oldest first."""
    return RunEvent.objects.filter(run=run).order_by("id")


def follower_of(run: Run) -> Run | None:
    """Return the run that was queued because of this one's end: a retry, or the same again after a shutdown."""
    return runs_visible().filter(origin_run=run).order_by("id").first()


def backups_gone(run: Run) -> dict[str, dt.datetime]:
    """Return the backups that the run made and its repository was seen to hold no longer, and when that was seen."""
    told = RunEvent.objects.filter(run=run, code=BACKUP_GONE).order_by("id").values_list("parameters", "at")
    gone = {backup_id: at for parameters, at in told for backup_id in parameters.get("backups", ())}
    if not gone:
        return gone
    # One that was brought back has its row again.
    held = Backup.objects.filter(repository_id=run.repository_id, backup_id__in=list(gone))
    for backup_id in held.values_list("backup_id", flat=True):
        del gone[backup_id]
    return gone


def findings_of(run: Run) -> list[RepositoryFreeze]:
    """Return what the run found wrong with its repository, oldest first: each froze it for the runs after it (A10)."""
    return list(RepositoryFreeze.objects.filter(repository_id=run.repository_id, run_id=run.id).order_by("id"))


def silent_since(run: Run, now: dt.datetime) -> dt.datetime | None:
    """Return the last sign of life of a running run whose worker has left out several, None for one that gives them."""
    if run.state != RunState.RUNNING or run.heartbeat_at is None:
        return None
    patience = dt.timedelta(seconds=MISSED_BEATS * settings.SYNCOVA_HEARTBEAT_SECONDS)
    return run.heartbeat_at if now - run.heartbeat_at > patience else None


def stalled_since(run: Run, now: dt.datetime) -> dt.datetime | None:
    """Return when a running run last moved, None while it does; its worker may be alive and wait for a dead mount."""
    moved_at = run.progress_at or run.started_at
    if run.state != RunState.RUNNING or moved_at is None:
        return None
    return moved_at if now - moved_at >= STALLED_AFTER else None


def phase(run: Run) -> str:
    """Return the state with the two phases of `queued` told apart."""
    if run.state == RunState.QUEUED:
        return "waiting" if run.admitted_at is None else "admitted"
    return run.state


def delay_seconds(run: Run) -> int | None:
    """Return planned → started (E4), None for a run that has not started."""
    return _seconds(run.started_at, run.scheduled_for)


def postponed_seconds(run: Run) -> int:
    """Return the part of the delay that windows decided: no back-off of a retry, nor what came before a requeue.

    A retry is taken to have waited for its back-off alone: windows hold it without another time of its own.
    """
    if run.trigger == Trigger.RETRY:
        return 0
    since = max(run.scheduled_for, run.created_at) if run.trigger == Trigger.REQUEUE else run.scheduled_for
    return _seconds(run.not_before, since) or 0


def _seconds(later: dt.datetime | None, earlier: dt.datetime) -> int | None:
    return None if later is None else max(0, int((later - earlier).total_seconds()))
