"""The errors of jobs and runs: stable codes with a sentence and a next step (E2, E8)."""

import datetime as dt
import uuid

from syncova_project.errors import ConflictError, NotFoundError, ValidationFailedError
from syncova_project.instants import instant


class JobNotFoundError(NotFoundError):
    """No such job, or it is deleted."""

    code = "JOB_NOT_FOUND"


class RunNotFoundError(NotFoundError):
    """No such run."""

    code = "RUN_NOT_FOUND"


class WindowNotFoundError(NotFoundError):
    """No such window."""

    code = "WINDOW_NOT_FOUND"


def no_such_window(window_id: uuid.UUID) -> WindowNotFoundError:
    """Return the error that names the window and how to find one."""
    hint = "List them with: GET /api/v1/windows"
    return WindowNotFoundError(f"There is no window {window_id}.", hint=hint, details={"window": str(window_id)})


def no_such_job(job_id: uuid.UUID) -> JobNotFoundError:
    """Return the error that names the job and how to find one."""
    hint = "List them with: ./syncova ctl job list"
    return JobNotFoundError(f"There is no job {job_id}.", hint=hint, details={"job": str(job_id)})


def job_is_deleted(job_id: uuid.UUID, name: str, deleted_at: dt.datetime) -> JobNotFoundError:
    """Return the error of a job that was, for who may see what it was; what it did stays to be read."""
    told = {"job": str(job_id), "deleted_at": instant(deleted_at)}
    message = f"The job {name} was deleted at {deleted_at:%Y-%m-%d %H:%M:%S} UTC."
    return JobNotFoundError(
        message, hint=f"Its runs stay: list them with ./syncova ctl run list --job {job_id}", details=told
    )


def no_such_run(run_id: uuid.UUID) -> RunNotFoundError:
    """Return the error that names the run and how to find one."""
    hint = "List them with: ./syncova ctl run list"
    return RunNotFoundError(f"There is no run {run_id}.", hint=hint, details={"run": str(run_id)})


class JobPausedError(ConflictError):
    """A paused job is not run behind the operator's back."""

    code = "JOB_PAUSED"


class JobActiveError(ConflictError):
    """The job already has a queued or running run; `details` has its id and why it waits."""

    code = "JOB_ACTIVE"


class JobNameTakenError(ConflictError):
    """Another job that is not deleted has this name, whatever its case."""

    code = "JOB_NAME_TAKEN"


class ScheduleAmbiguousError(ConflictError):
    """The job has several schedules, and the request names one without saying which; `details` has their ids."""

    code = "SCHEDULE_AMBIGUOUS"


class WindowNameTakenError(ConflictError):
    """Another window has this name, whatever its case."""

    code = "WINDOW_NAME_TAKEN"


class JobNeededError(ConflictError):
    """Other jobs depend on this one; `details` names them."""

    code = "JOB_NEEDED"


class DependencyCycleError(ConflictError):
    """A job would wait for itself, directly or by way of others; `details` has their names in order."""

    code = "DEPENDENCY_CYCLE"


class RunFinishedError(ConflictError):
    """The run has ended; an end is final."""

    code = "RUN_FINISHED"


class UpkeepActiveError(ConflictError):
    """The repository already has an active run of this kind."""

    code = "UPKEEP_ACTIVE"


class RepositoryNotReadyError(ConflictError):
    """The repository takes no backups now; the message says why (E7)."""

    code = "REPOSITORY_NOT_READY"


class UpkeepPlanNotFoundError(NotFoundError):
    """The repository has no plan for this kind of upkeep."""

    code = "UPKEEP_PLAN_NOT_FOUND"


class GroupNotServedError(ConflictError):
    """No worker process of the group is there, and only they reach its repositories."""

    code = "GROUP_NOT_SERVED"


class WorkersNotFoundError(NotFoundError):
    """No worker process is the one that was named."""

    code = "WORKERS_NOT_FOUND"


class RestoreTargetNotAllowedError(ValidationFailedError):
    """The target lies outside the runner's restore roots, or in Syncova's own data."""

    code = "RESTORE_TARGET_NOT_ALLOWED"


class SourceNotAllowedError(ValidationFailedError):
    """The path lies outside the runner's source roots, or holds Syncova's own data."""

    code = "SOURCE_NOT_ALLOWED"
