"""Jobs and runs for API tests, made by the services themselves."""

import datetime as dt
from typing import Any

from jobs import transitions
from jobs.database_time import database_now
from jobs.models import Job, Run
from jobs.services import NewJob, SourceInput, job_create, run_request
from repositories.models import Repository
from tests.repositories.builders import make_repository

NOBODY = "01900000-0000-7000-8000-000000000000"  # an id that nothing has
BERLIN = {"type": "daily", "time": "02:00", "time_zone": "Europe/Berlin"}


def make_job(repository: Repository | None = None, **fields: Any) -> Job:
    """Return a saved job, daily at two, with one source."""
    now = fields.pop("now", database_now())
    repository = repository or make_repository()
    values: dict[str, Any] = {
        "name": f"job {repository.id.hex[-6:]} {Job.objects.count()}",
        "repository_id": repository.id,
        "sources": [SourceInput(path=b"/srv/data")],
        "schedules": [BERLIN],
    }
    return job_create(NewJob(**(values | fields)), actor="alice", now=now)


def make_run(job: Job | None = None) -> Run:
    """Return a waiting run of a job."""
    return run_request(job_id=(job or make_job()).id, actor="alice", now=database_now())


def start(run: Run, *, now: dt.datetime | None = None) -> int:
    """Admit and start a run as its worker would; returns the fence."""
    fence = 100 + Run.objects.count()
    moment = now or database_now()
    revision = run.job.revisions.get() if run.job else None
    assert transitions.admit(run.id, fence, revision.pk if revision else None, now=moment)
    assert transitions.start(run.id, fence, "worker-1", now=moment)
    return fence


def job_body(repository: Repository, **fields: Any) -> dict[str, Any]:
    """Return the body of POST /jobs."""
    values: dict[str, Any] = {
        "name": "Nightly",
        "repository_id": str(repository.id),
        "sources": [{"type": "filesystem", "id": "/srv/data", "exclude_patterns": ["*.tmp"]}],
        "schedule": BERLIN,
    }
    return values | fields
