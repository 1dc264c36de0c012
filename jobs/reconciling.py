"""What a control plane learns from a repository about runs that its database does not know (execution.md, section 5).

Owns three things that follow from the backups that lie there: no fence is given out again, no planned instant is run
again that has its backup, and a run of the dump that went on elsewhere ends with the words that its end is lost. Reads
no repository; the caller hands in what it lists.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction
from django.db.models import Q

from jobs import calendar, decisions, transitions
from jobs.executors import Failure
from jobs.models import Job, JobSource, Run, RunEvent, Schedule, Source, TaskRun
from jobs.planning import following_of, planned
from jobs.states import (
    ACTIVE_STATES,
    BACKUP_GONE,
    FINISHED_STATES,
    DecisionOutcome,
    FailureClass,
    RunnerKind,
    ScheduleState,
    Trigger,
)
from jobs.window_rows import plan_by_windows
from repositories.catalogue import ListedBackup
from repositories.models import Backup
from syncova_project.named_locks import NamedLock

RAN_BEFORE_RESTORE: Final = "ran_before_restore"
_PLANNED: Final = frozenset({Trigger.SCHEDULE, Trigger.RETRY, Trigger.REQUEUE})


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was brought into line: runs ended, schedules moved past what ran, and backups found to be late."""

    runs_ended: int
    schedules_moved: int
    late: int


def fences_above(fence: int) -> None:
    """Let no fence be given out that is not above `fence`; never goes back."""
    with connection.cursor() as cursor:
        # The lock keeps a rival from setting it lower in between; nextval goes on beside it.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(NamedLock.FENCES)])
        cursor.execute(
            "SELECT setval('run_fences', %s) FROM run_fences WHERE last_value < %s OR NOT is_called", [fence, fence]
        )


def reconcile(
    *, repository_id: uuid.UUID, listed: Sequence[ListedBackup], restored_at: dt.datetime | None, now: dt.datetime
) -> Reconciled:
    """Bring the runs and schedules of a repository into line with the backups that it lists.

    `restored_at` is when the database was found to know less than the repository; None: it is as new, and no run and
    no schedule is touched.
    """
    _link(repository_id)
    if restored_at is None:
        return Reconciled(0, 0, _mark_late(repository_id))
    ended = sum(_ended(run, listed, now) for run in _left(repository_id, restored_at))
    jobs = Job.objects.filter(repository_id=repository_id, deleted_at__isnull=True).order_by("id")
    moved = sum(_moved(job_id, listed, now) for job_id in jobs.values_list("id", flat=True))
    return Reconciled(ended, moved, _mark_late(repository_id))


def sources_of_group(name: str) -> dict[tuple[str, bytes], uuid.UUID]:
    """Return the sources of a worker group by type and exact path: a backup says what it read by these."""
    rows = Source.objects.filter(runner__kind=RunnerKind.GROUP, runner__name__iexact=name)
    return {(kind, bytes(path)): key for kind, path, key in rows.values_list("type", "normalised_id", "id")}


def tell_gone(*, repository_id: uuid.UUID, gone: Iterable[tuple[str, uuid.UUID | None]], now: dt.datetime) -> None:
    """Tell each run that is known which of its backups the repository holds no longer; its end stays what it was."""
    by_run: dict[uuid.UUID, list[str]] = {}
    for backup_id, run_id in gone:
        if run_id is not None:
            by_run.setdefault(run_id, []).append(backup_id)
    known = Run.objects.filter(id__in=list(by_run)).values_list("id", flat=True)
    told = {run_id: {"repository": str(repository_id), "backups": by_run[run_id]} for run_id in known}
    RunEvent.objects.bulk_create(
        [RunEvent(run_id=run_id, at=now, code=BACKUP_GONE, parameters=each) for run_id, each in told.items()],
        batch_size=1000,
    )


def _link(repository_id: uuid.UUID) -> None:
    """Give rebuilt rows the job and the task run that the database still knows.

    Of a run that it does not know the source tells the job, if only one job has ever had it: all else is a guess.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE backups SET job_id = runs.job_id FROM runs"
            " WHERE backups.repository_id = %s AND runs.id = backups.run_id AND backups.job_id IS NULL",
            [repository_id],
        )
        cursor.execute(
            "UPDATE backups SET task_run_id = task_runs.id, source_id = task_runs.source_id FROM task_runs"
            " WHERE backups.repository_id = %s AND task_runs.run_id = backups.run_id"
            " AND task_runs.backup_id = backups.backup_id AND backups.task_run_id IS NULL",
            [repository_id],
        )
        cursor.execute(
            "UPDATE backups SET job_id = owners.job_id FROM ("
            "SELECT source_id, (array_agg(job_id))[1] AS job_id FROM job_sources GROUP BY source_id HAVING count(*) = 1"
            ") AS owners WHERE backups.repository_id = %s AND backups.job_id IS NULL"
            " AND backups.source_id = owners.source_id AND backups.trigger <> %s",
            [repository_id, str(Trigger.EXTERNAL)],
        )


def _left(repository_id: uuid.UUID, restored_at: dt.datetime) -> Iterable[Run]:
    """Return the runs of the dump that nobody is at: a worker that lives has given a sign of life since."""
    active = Run.objects.filter(repository_id=repository_id, state__in=ACTIVE_STATES, job__isnull=False)
    silent = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=restored_at)
    return active.filter(silent, created_at__lt=restored_at).order_by("id")


def _ended(run: Run, listed: Sequence[ListedBackup], now: dt.datetime) -> bool:
    """End a run that the repository shows to have gone on: it made a backup, or its sources were backed up later."""
    sources = _sources_of(run.job_id)
    own = sum(each.run_id == run.id for each in listed)
    later = any(each.source_id in sources and each.received_at > run.not_before for each in listed)
    if not own and not later:
        return False
    told = f"{own} of its backups lie in the repository" if own else "its sources were backed up since"
    failure = Failure(
        "OUTCOME_LOST",
        f"This database was restored from a dump in which the run had not ended: {told}. How it ended is not known.",
        FailureClass.UNKNOWN,
        hint="See the backups themselves: ./syncova repo list LOCATION",
    )
    return transitions.outcome_lost(run.id, failure, now=now)


def _sources_of(job_id: uuid.UUID | None) -> frozenset[uuid.UUID]:
    return frozenset(JobSource.objects.filter(job=job_id).values_list("source_id", flat=True))


def _moved(job_id: uuid.UUID, listed: Sequence[ListedBackup], now: dt.datetime) -> int:
    """Move a job's schedules past the newest of their planned instants that has its backup."""
    instants = _instants_of(job_id, listed)
    if not instants:
        return 0
    moved = 0
    with transaction.atomic():
        plan_by_windows()
        Job.objects.select_for_update(no_key=True).filter(id=job_id).first()
        behind = Schedule.objects.select_for_update(no_key=True).filter(
            job_id=job_id, deleted_at__isnull=True, state=ScheduleState.ACTIVE, next_at__lte=instants[-1]
        )
        for schedule in behind.order_by("id"):
            moved += _move(schedule, instants, now)
    return moved


def _instants_of(job_id: uuid.UUID, listed: Sequence[ListedBackup]) -> list[dt.datetime]:
    """Return for which planned instants a job's sources were backed up, ascending.

    Sources may be shared: what runs of another job did is that one's, where the database knows them.
    """
    sources = _sources_of(job_id)
    found = [each for each in listed if each.source_id in sources and each.trigger in _PLANNED and each.scheduled_for]
    others = Run.objects.filter(id__in=[each.run_id for each in found if each.run_id]).exclude(job=job_id)
    left_out = set(others.values_list("id", flat=True))
    return sorted(each.scheduled_for for each in found if each.scheduled_for and each.run_id not in left_out)


def _move(schedule: Schedule, instants: Sequence[dt.datetime], now: dt.datetime) -> bool:
    plan = calendar.parse(schedule.definition, anchor=schedule.anchor)
    due = schedule.next_at
    # Only its own instants: another job's may back up the same source at other times.
    own = [each for each in instants if due is not None and each >= due and _is_of(plan, each)]
    if due is None or not own:
        return False
    span = calendar.span(plan, due, own[-1])
    decisions.decide_range(schedule, span, DecisionOutcome.SKIPPED, RAN_BEFORE_RESTORE, now=now)
    columns = planned(plan, following_of(schedule, plan, own[-1]))
    Schedule.objects.filter(id=schedule.id).update(last_planned_at=span.newest, **columns)
    return True


def _is_of(plan: calendar.Plan, instant: dt.datetime) -> bool:
    occurrence = plan.latest_until(instant)
    return occurrence is not None and occurrence.instant == instant


def _mark_late(repository_id: uuid.UUID) -> int:
    """Mark backups that were completed when their run had ended without them (execution.md, section 1)."""
    ended = Run.objects.filter(repository_id=repository_id, state__in=FINISHED_STATES).exclude(
        error_code="OUTCOME_LOST"
    )
    told = TaskRun.objects.filter(run__repository_id=repository_id).exclude(backup_id="")
    late = Backup.objects.filter(repository_id=repository_id, run_id__in=ended.values("id"), is_late=False)
    return late.exclude(backup_id__in=told.values("backup_id")).update(is_late=True)
