"""What newer runs did is not done again: instants, fences, runs of a restored dump (6.8; execution.md, section 5)."""

import datetime as dt
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from jobs.claims import claim_due
from jobs.deadlines import expire_late
from jobs.models import DatabaseHome, Job, JobSource, Run, RunEvent, Schedule, ScheduleDecision
from jobs.reaper import reap
from jobs.reconciling import fences_above, reconcile
from jobs.restored import notice_restore
from jobs.sentences import decision_sentence
from jobs.states import RunState
from jobs.tick import run_pass
from jobs.upkeep import claim_upkeep
from repositories.catalogue import ListedBackup
from repositories.control_plane import reindex_wanted, reindexed
from repositories.freezing import repository_freeze, repository_unfreeze
from repositories.models import Backup, Repository, RepositoryFreeze
from repositories.selectors import repository_get
from repositories.serializers import repository_json
from tests.jobs.builders import NOW, make_job, make_run, make_schedule, make_source, make_task_run
from tests.repositories.builders import make_backup
from tests.repositories.test_catalogue import listed

pytestmark = pytest.mark.django_db

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)


def of(job: Job, instant: dt.datetime, **changes: Any) -> ListedBackup:
    """Return a backup that a run of the job made for a planned instant, and that the database knows nothing of."""
    source = JobSource.objects.filter(job=job).values_list("source_id", flat=True)[0]
    values = {"source_id": source, "scheduled_for": instant, "received_at": instant + HOUR}
    return listed(f"run-{uuid.uuid4().hex[:20]}", **(values | changes))


def restored(repository: Repository, at: dt.datetime = NOW) -> None:
    reindex_wanted(repository_id=repository.id, reason="restored", run_id=None, now=at)


def learn(job: Job, *found: ListedBackup, now: dt.datetime = NOW) -> Any:
    at = Repository.objects.get(pk=job.repository_id).reindex_wanted_at
    return reconcile(repository_id=job.repository_id, listed=found, restored_at=at, now=now)


@pytest.fixture(autouse=True)
def sequence_as_before() -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE run_fences RESTART")


def next_fence() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('run_fences')")
        return int(cursor.fetchone()[0])


def test_no_fence_is_given_out_again() -> None:
    highest = next_fence() + 70
    fences_above(highest)
    assert next_fence() == highest + 1
    fences_above(highest - 10)
    assert next_fence() == highest + 2


def test_nothing_is_planned_or_ended_until_the_repository_was_indexed() -> None:
    """A restored database must not claim, expire or reap what newer runs did."""
    job = make_job(schedule={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    silent = make_run(make_job(repository=job.repository), RunState.RUNNING, heartbeat_at=NOW - DAY)
    late = make_run(make_job(repository=job.repository, start_deadline_seconds=60), not_before=NOW, created_at=NOW)
    other = make_job(schedule={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    restored(job.repository)
    later = NOW + DAY
    assert claim_due(now=NOW).queued == 1
    assert [run.job_id for run in Run.objects.filter(trigger="schedule")] == [other.id]
    assert claim_upkeep(now=later).queued == 0
    assert (expire_late(now=later), reap(now=later, observed_since=NOW)) == (0, 0)
    reindexed(repository_id=job.repository_id, fence=0, actor="alice", told={}, now=NOW)
    assert not RepositoryFreeze.objects.filter(cleared_at=None).exists()
    assert claim_due(now=NOW).queued == 1
    assert (expire_late(now=later), reap(now=later, observed_since=NOW)) == (1, 1)
    assert {Run.objects.get(id=run.id).state for run in (silent, late)} == {RunState.FAILED}


def test_only_indexing_ends_the_freeze_that_waits_for_it() -> None:
    """Unfrozen by hand, nothing would be planned, and nothing would say so."""
    repository = make_job().repository
    restored(repository)
    repository_freeze(repository_id=repository.id, reason="the disk makes noises", now=NOW)
    assert repository_unfreeze(repository_id=repository.id, actor="alice", now=NOW) == 1
    shown = repository_json(repository_get(repository.id))
    assert (shown["refusal_code"], shown["reindex_wanted"]["reason"]) == ("REPOSITORY_FROZEN", "restored")
    reindexed(repository_id=repository.id, fence=0, actor="alice", told={}, now=NOW)
    shown = repository_json(repository_get(repository.id))
    assert (shown["accepts_backups"], shown["reindex_wanted"], shown["epoch"]) == (True, None, 1)


def test_instants_that_have_their_backup_are_passed_over_with_a_decision() -> None:
    """No instant runs twice: those up to the newest that ran get a row, the ones after it are claimed as missed."""
    job = make_job(schedule={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    restored(job.repository)
    found = [of(job, NOW), of(job, NOW + DAY, trigger="retry"), of(job, NOW + 3 * DAY, trigger="manual")]
    assert learn(job, *found, now=NOW + 4 * DAY).schedules_moved == 1
    decision = ScheduleDecision.objects.get()
    assert (decision.first_at, decision.last_at, decision.count) == (NOW, NOW + DAY, 2)
    assert (decision.outcome, decision.reason_code) == ("skipped", "ran_before_restore")
    assert "their backups are there" in decision_sentence(decision)
    assert Schedule.objects.get().next_at == NOW + 2 * DAY
    assert learn(job, *found, now=NOW + 4 * DAY).schedules_moved == 0


def test_another_jobs_instants_move_no_schedule() -> None:
    """Two jobs may back up one source at different times."""
    source = make_source()
    daily = make_job(sources=[source], schedule={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    other = make_job(sources=[source], repository=daily.repository)
    make_schedule(other, {"type": "daily", "time": "03:00", "time_zone": "UTC"}, next_at=NOW + HOUR)
    known = make_run(other, RunState.SUCCEEDED)
    restored(daily.repository)
    # The one is off the plan; the other is on it, but of a run that the database knows to be another job's.
    assert learn(daily, of(other, NOW + HOUR + dt.timedelta(minutes=7))).schedules_moved == 0
    assert learn(daily, of(daily, NOW, run_id=known.id)).schedules_moved == 0


def test_backups_of_runs_that_are_unknown_belong_to_the_one_job_of_their_source() -> None:
    """What ran after the dump was made: a source that two jobs have, a deleted one too, says nothing."""
    job, shared = make_job(), make_source()
    for name in ("kept", "deleted"):
        other = make_job(sources=[shared], repository=job.repository)
        Job.objects.filter(pk=other.pk, name=other.name).update(deleted_at=NOW if name == "deleted" else None)
    own = JobSource.objects.values_list("source_id", flat=True).get(job=job)
    made = make_run(make_job(sources=[shared], repository=job.repository), RunState.SUCCEEDED)
    told = {
        make_backup(job.repository, source_id=own, trigger="schedule"): job.id,
        make_backup(job.repository, source_id=shared.id, trigger="schedule"): None,
        make_backup(job.repository, source_id=shared.id, run_id=made.id, trigger="schedule"): made.job_id,
        make_backup(job.repository, source_id=own, trigger="external"): None,
        make_backup(make_job().repository, source_id=own, trigger="schedule"): None,
    }
    learn(job)
    assert [Backup.objects.get(pk=each.pk).job_id for each in told] == list(told.values())


def test_runs_of_the_dump_that_went_on_elsewhere_end_and_are_not_tried_again() -> None:
    job = make_job()
    ran = make_run(job, RunState.RUNNING, heartbeat_at=NOW - DAY, created_at=NOW - DAY)
    waited = make_run(
        make_job(repository=job.repository), created_at=NOW - DAY, scheduled_for=NOW - DAY, not_before=NOW - DAY
    )
    untold = make_run(make_job(repository=job.repository), created_at=NOW - DAY)
    alive = make_run(make_job(repository=job.repository), RunState.RUNNING, heartbeat_at=NOW + HOUR)
    assert waited.job is not None
    found = [of(job, NOW - DAY, run_id=ran.id), of(waited.job, NOW - HOUR)]
    assert learn(job, *found).runs_ended == 0, "a database that knows as much ends nothing"
    restored(job.repository)
    assert learn(job, *found).runs_ended == 2
    for run in (ran, waited):
        row = Run.objects.get(id=run.id)
        assert (row.state, row.error_code, row.failure_class) == (RunState.FAILED, "OUTCOME_LOST", "unknown")
        assert RunEvent.objects.filter(run_id=run.id, actor="reindex").count() == 1
    assert Run.objects.filter(origin_run__isnull=False).count() == 0
    assert Run.objects.get(id=untold.id).state == RunState.QUEUED
    assert Run.objects.get(id=alive.id).state == RunState.RUNNING


def test_a_backup_that_came_after_its_runs_end_is_late() -> None:
    """execution.md, section 1: complete, and never the run's success."""
    job = make_job()
    orphaned, good = make_run(job, RunState.FAILED), make_run(job, RunState.SUCCEEDED)
    make_backup(job.repository, backup_id="late", run_id=orphaned.id)
    make_backup(job.repository, backup_id="good", run_id=good.id)
    task = make_task_run(good, state="succeeded", backup_id="good", manifest_id="m", mode="full", finished_at=NOW)
    assert learn(job).late == 1
    assert learn(job).late == 0
    rows = {row.backup_id: row for row in Backup.objects.all()}
    assert (rows["late"].is_late, rows["good"].is_late) == (True, False)
    assert (rows["good"].task_run_id, rows["late"].job_id) == (task.id, job.id)


def test_rows_that_came_from_elsewhere_know_it_before_anything_is_claimed() -> None:
    """A dump restored into another cluster, or anew into the same one."""
    job = make_job(schedule={"type": "daily", "time": "02:00", "time_zone": "UTC"})
    assert not notice_restore(now=NOW)
    assert not notice_restore(now=NOW)
    assert not RepositoryFreeze.objects.exists()
    DatabaseHome.objects.update(table_oid=1)
    assert run_pass(now=NOW).queued == 0
    row = Repository.objects.get(pk=job.repository_id)
    assert (row.reindex_wanted_at, "restored from a dump" in row.reindex_reason) == (NOW, True)
    assert RepositoryFreeze.objects.filter(cleared_at=None).count() == 1
    assert not notice_restore(now=NOW)
