"""Rows of the measurement of lists and admissions: a long history of runs, and runs that wait (6.12).

Owns what needs Django to be set up; tests.benchmarks.control does that first. History is copied inside the database
from one finished run, so that its constraints hold for each row as they do for any other.
"""

import datetime as dt
import uuid
from typing import Any, Final

from django.db import connection

from jobs.models import Job, JobSource, Run, Runner, Source, WorkerProcess
from jobs.revisions import write_revision
from jobs.states import RunState, Trigger
from repositories.identifiers import new_id
from repositories.models import Repository
from tests.jobs.builders import make_runner
from tests.repositories.builders import make_repository

NOW: Final = dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC)
_DAY: Final = dt.timedelta(days=1)

# Of a hundred runs ninety succeed, as in a history that somebody looks at for what did not.
_COPY: Final = """
INSERT INTO runs ({columns})
SELECT {values}
FROM generate_series(1, %(runs)s) AS run (number)
CROSS JOIN LATERAL (
    SELECT %(now)s::timestamptz - run.number * interval '10 seconds' AS at, run.number %% 100 AS hundredth,
           (%(jobs)s::uuid[])[1 + run.number %% %(count)s] AS job_id
) AS one
JOIN jobs ON jobs.id = one.job_id
CROSS JOIN (SELECT * FROM runs WHERE id = %(pattern)s) AS pattern
"""
_DIFFERENT: Final = {
    "id": "gen_random_uuid()",
    "job_id": "one.job_id",
    "repository_id": "jobs.repository_id",
    "runner_id": "jobs.runner_id",
    "created_at": "one.at",
    "scheduled_for": "one.at",
    "not_before": "one.at",
    "admitted_at": "one.at",
    "started_at": "one.at",
    "heartbeat_at": "one.at",
    "finished_at": "one.at + interval '1 minute'",
    "fence": "nextval('run_fences')",
    "state": "CASE WHEN hundredth < 90 THEN 'succeeded' WHEN hundredth < 95 THEN 'failed' ELSE 'partial_failure' END",
    "failure_class": "CASE WHEN hundredth BETWEEN 90 AND 94 THEN 'repository' ELSE '' END",
    "error_code": "CASE WHEN hundredth BETWEEN 90 AND 94 THEN 'STORAGE_UNREACHABLE' ELSE '' END",
    # Messages that differ, as those with a path or a time do.
    "error_message": (
        "CASE WHEN hundredth BETWEEN 90 AND 94 THEN 'No answer to request ' || number || ' from the storage on disk '"
        " || number %% 97 ELSE '' END"
    ),
}


def make_queue(*, repositories: int, waiting: int) -> list[Job]:
    """Make jobs over repositories with a source each, and a run of each that waits; nobody has slots."""
    make_repository()
    runner = make_runner()
    places = [_repository(number) for number in range(repositories)]
    sources = [_source(runner, number) for number in range(waiting)]
    Source.objects.bulk_create(sources)
    jobs = [_job(runner, places[number % repositories], number) for number in range(waiting)]
    Job.objects.bulk_create(jobs)
    JobSource.objects.bulk_create(
        JobSource(job=job, source=source, position=0) for job, source in zip(jobs, sources, strict=True)
    )
    # Only of those that come first in the queue: more are not admitted.
    for number in sorted(range(3, waiting, 4), key=lambda number: -(number % 3600))[:300]:
        write_revision(jobs[number], "bench", now=NOW)
    Run.objects.bulk_create(_waiting(job, number) for number, job in enumerate(jobs))
    return jobs


def make_history(jobs: list[Job], *, runs: int) -> None:
    """Fill the table with finished runs of the jobs, and let the database know what is in it."""
    pattern = _finished(next(job for job in jobs if job.revisions.exists()))
    names = [field.attname for field in Run._meta.concrete_fields]
    values = [_DIFFERENT.get(name, f"pattern.{name}") for name in names]
    told: dict[str, Any] = {"runs": runs, "now": NOW, "jobs": [job.id for job in jobs], "count": len(jobs)}
    with connection.cursor() as cursor:
        statement = _COPY.format(columns=", ".join(names), values=", ".join(values))
        cursor.execute(statement, told | {"pattern": pattern.id})
        cursor.execute("ANALYZE runs, jobs, job_sources, sources, job_revisions, repositories")


def make_slots(slots: int) -> None:
    """Let a worker with slots be there."""
    WorkerProcess.objects.create(
        id=new_id(NOW),
        runner=Runner.objects.get(name="default"),
        host="bench",
        process_id=1,
        slots=slots,
        started_at=NOW,
        last_seen=NOW,
    )


def _repository(number: int) -> Repository:
    place = Repository.objects.order_by("id").first()
    assert place is not None
    place.pk, place.name, place.location = uuid.uuid4(), f"place {number}", f"/srv/place-{number}"
    place.repository_id = uuid.uuid4().hex
    place._state.adding = True
    place.save(force_insert=True)
    return place


def _source(runner: Runner, number: int) -> Source:
    path = f"/srv/data/{number}"
    values: dict[str, Any] = {"runner": runner, "type": "filesystem", "created_at": NOW, "shown": path}
    return Source(id=uuid.uuid4(), normalised_id=path.encode(), **values)


def _job(runner: Runner, place: Repository, number: int) -> Job:
    made = NOW - _DAY
    return Job(
        id=new_id(NOW), name=f"queued {number}", repository=place, runner=runner, created_at=made, updated_at=made
    )


def _waiting(job: Job, number: int) -> Run:
    moment = NOW - dt.timedelta(seconds=number % 3600)
    return Run(
        id=new_id(NOW),
        kind="backup",
        job=job,
        repository_id=job.repository_id,
        runner_id=job.runner_id,
        trigger=Trigger.MANUAL,
        requested_by="bench",
        priority=("low", "normal", "high", "critical")[number % 4],
        created_at=moment,
        scheduled_for=moment,
        not_before=moment,
    )


def _finished(job: Job) -> Run:
    run = _waiting(job, 0)
    revision = job.revisions.first()
    run.id, run.fence, run.revision = new_id(NOW), 1_000_000_000, revision
    run.admitted_at = run.started_at = run.heartbeat_at = run.finished_at = NOW
    run.worker, run.state = "bench:1", RunState.SUCCEEDED
    run.save(force_insert=True)
    return run
