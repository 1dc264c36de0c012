"""Rows of jobs, one concept a file; owns what the database must hold. Rules over several rows live in services."""

from jobs.models.breaker import RepositoryBreaker
from jobs.models.database_home import DatabaseHome
from jobs.models.dependency import JobDependency
from jobs.models.job import Job
from jobs.models.log import RunLogChunk
from jobs.models.revision import JobRevision
from jobs.models.run import Run
from jobs.models.run_event import RunEvent
from jobs.models.runner import Runner, WorkerProcess
from jobs.models.schedule import Schedule
from jobs.models.schedule_history import ScheduleDecision, ScheduleEvent
from jobs.models.scheduler_state import SchedulerState
from jobs.models.source import JobSource, Source
from jobs.models.task_run import TaskRun
from jobs.models.upkeep import UpkeepDecision, UpkeepPlan
from jobs.models.window import Window

__all__ = [
    "DatabaseHome",
    "Job",
    "JobDependency",
    "JobRevision",
    "JobSource",
    "RepositoryBreaker",
    "Run",
    "RunEvent",
    "RunLogChunk",
    "Runner",
    "Schedule",
    "ScheduleDecision",
    "ScheduleEvent",
    "SchedulerState",
    "Source",
    "TaskRun",
    "UpkeepDecision",
    "UpkeepPlan",
    "Window",
    "WorkerProcess",
]
