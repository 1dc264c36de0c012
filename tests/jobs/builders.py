"""Plain builders of the rows of jobs; each takes what the test cares about and fills in the rest.

They write rows directly, also in states that only a loop would reach: what PostgreSQL refuses is tested with them.
"""

import datetime as dt
import itertools
import uuid
from typing import Any

from jobs import calendar
from jobs.models import Job, JobSource, Run, Runner, Schedule, Source, TaskRun, WorkerProcess
from jobs.revisions import write_revision
from jobs.states import RunKind, RunState
from repositories.identifiers import new_id as id_at
from repositories.models import Repository
from tests.repositories.builders import make_repository

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)
DAILY = {"type": "daily", "time": "02:00", "time_zone": "UTC"}
_numbers = itertools.count(1)


def new_id() -> uuid.UUID:
    return id_at(NOW)


def make_runner(name: str | None = None, **fields: Any) -> Runner:
    """Return a worker group; the default one unless named."""
    wanted = name or "default"
    found = Runner.objects.filter(kind=fields.get("kind", "group"), name=wanted).first()
    values: dict[str, Any] = {"id": new_id(), "kind": "group", "name": wanted, "created_at": NOW}
    return found or Runner.objects.create(**(values | fields))


def make_worker(runner: Runner | None = None, *, slots: int = 4, **fields: Any) -> WorkerProcess:
    """Return a live worker process with slots."""
    values: dict[str, Any] = {
        "id": new_id(),
        "runner": runner or make_runner(),
        "host": "alpha",
        "process_id": next(_numbers),
        "slots": slots,
        "started_at": NOW - dt.timedelta(hours=1),
        "last_seen": NOW,
    }
    return WorkerProcess.objects.create(**(values | fields))


def make_source(path: bytes | None = None, **fields: Any) -> Source:
    """Return a directory to back up, one of its own unless named."""
    name = path or f"/srv/{next(_numbers)}".encode()
    values: dict[str, Any] = {
        "id": new_id(),
        "runner": fields.pop("runner", None) or make_runner(),
        "type": "filesystem",
        "normalised_id": name,
        "shown": name.decode("utf-8", "replace"),
        "created_at": NOW,
    }
    return Source.objects.create(**(values | fields))


def make_job(*, sources: list[Source] | None = None, schedule: dict[str, Any] | None = None, **fields: Any) -> Job:
    """Return a job with a source, its first revision and, where given, a schedule that is due at NOW."""
    values: dict[str, Any] = {
        "id": new_id(),
        "name": f"job {next(_numbers)}",
        "repository": fields.pop("repository", None) or make_repository(),
        "runner": fields.pop("runner", None) or make_runner(),
        "created_at": NOW - dt.timedelta(days=10),
        "updated_at": NOW - dt.timedelta(days=10),
    }
    job = Job.objects.create(**(values | fields))
    for position, source in enumerate(sources if sources is not None else [make_source(runner=job.runner)]):
        JobSource.objects.create(job=job, source=source, position=position)
    if schedule is not None:
        make_schedule(job, schedule)
    write_revision(job, "alice", now=NOW)
    return job


def make_schedule(job: Job | None = None, definition: dict[str, Any] | None = None, **fields: Any) -> Schedule:
    """Return a schedule that is due at NOW; daily at 02:00 unless told otherwise."""
    chosen = definition or DAILY
    anchor = fields.pop("anchor", NOW - dt.timedelta(days=10))
    values: dict[str, Any] = {
        "id": new_id(),
        "job": job or make_job(),
        "kind": chosen.get("type", "daily"),
        "definition": chosen,
        "anchor": anchor,
        "fingerprint": "f",
        "next_at": NOW,
        "created_at": anchor,
    }
    return Schedule.objects.create(**(values | fields))


def make_run(job: Job | None = None, state: str = RunState.QUEUED, **fields: Any) -> Run:
    """Return a run in `state` with all that the state implies; a waiting backup by hand unless told otherwise."""
    kind = fields.pop("kind", RunKind.BACKUP)
    owner = (job or make_job()) if kind == RunKind.BACKUP else None
    repository: Repository = fields.pop("repository", None) or (owner.repository if owner else make_repository())
    values: dict[str, Any] = {
        "id": new_id(),
        "kind": kind,
        "job": owner,
        "repository": repository,
        "runner": owner.runner if owner else make_runner(),
        "trigger": "manual",
        "requested_by": "alice",
        "created_at": NOW,
        "scheduled_for": NOW,
        "not_before": NOW,
        "state": state,
    }
    values |= _implied(state, owner, admitted=fields.pop("admitted", False))
    return Run.objects.create(**(values | fields))


def make_task_run(run: Run | None = None, source: Source | None = None, **fields: Any) -> TaskRun:
    """Return a pending task run."""
    owner = run or make_run()
    values: dict[str, Any] = {
        "id": new_id(),
        "run": owner,
        "source": source or make_source(),
        "position": owner.task_runs.count(),
    }
    return TaskRun.objects.create(**(values | fields))


def plan(**definition: Any) -> calendar.Plan:
    return calendar.parse(definition, anchor=NOW)


def _implied(state: str, job: Job | None, *, admitted: bool) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if state != RunState.QUEUED or admitted:
        revision = job.revisions.first() if job else None
        values |= {"admitted_at": NOW, "fence": 1_000_000 + next(_numbers), "revision": revision}
    if state not in (RunState.QUEUED,):
        values |= {"started_at": NOW, "heartbeat_at": NOW, "worker": "alpha:1"}
    if state not in (RunState.QUEUED, RunState.RUNNING):
        values |= {"finished_at": NOW}
    if state == RunState.FAILED:
        values |= {"failure_class": "transient", "error_code": "X"}
    if state == RunState.CANCELLED:
        values |= {"cancel_origin": "user"}
    return values
