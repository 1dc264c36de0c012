"""Writes of jobs and runs that somebody asks for: keyword-only, typed, each one transaction.

Callers pass `now` as the database told it (jobs.database_time) and the name of who asks.
"""

from jobs.services.breakers import breaker_reset
from jobs.services.dependencies import job_depend
from jobs.services.job_change import job_change
from jobs.services.jobs import job_create, job_delete, job_pause, job_resume
from jobs.services.new_job import NewJob, SourceInput
from jobs.services.runs import operation_request, run_cancel, run_request
from jobs.services.windows import WindowInput, window_change, window_create, window_delete
from jobs.services.workers import WorkerInput, worker_drains, worker_gone, worker_seen

__all__ = [
    "NewJob",
    "SourceInput",
    "WindowInput",
    "WorkerInput",
    "breaker_reset",
    "job_change",
    "job_create",
    "job_delete",
    "job_depend",
    "job_pause",
    "job_resume",
    "operation_request",
    "run_cancel",
    "run_request",
    "window_change",
    "window_create",
    "window_delete",
    "worker_drains",
    "worker_gone",
    "worker_seen",
]
