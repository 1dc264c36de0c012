"""The closed sets of jobs: kinds, states and classes, and the one table of moves between the states of a run.

Owns words alone (execution.md, section 1). Must not write a row: jobs.transitions does.
"""

from collections.abc import Mapping
from typing import Final

from django.db.models import TextChoices


class RunKind(TextChoices):
    """What a run does; only a backup belongs to a job."""

    BACKUP = "backup", "Backup"
    RESTORE = "restore", "Restore"
    CHECK = "check", "Check"
    PRUNE = "prune", "Prune"
    FORGET = "forget", "Forget"
    DRILL = "drill", "Restore drill"
    COPY = "copy", "Copy"


class RunState(TextChoices):
    """Where a run stands; `queued` is *waiting* while `admitted_at` is null, else *admitted*."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    PARTIAL_FAILURE = "partial_failure", "Partial failure"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class TaskState(TextChoices):
    """Where one source of a run stands."""

    PENDING = "pending", "Pending"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    PARTIAL_FAILURE = "partial_failure", "Partial failure"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    SKIPPED = "skipped", "Skipped by a hook"


class Trigger(TextChoices):
    """Why a run exists."""

    SCHEDULE = "schedule", "Schedule"
    MANUAL = "manual", "By hand"
    RETRY = "retry", "Retry"
    REQUEUE = "requeue", "Queued again after a shutdown"
    EXTERNAL = "external", "External"


class FailureClass(TextChoices):
    """Why a run failed; whether it is tried again depends on this alone (C5)."""

    TRANSIENT = "transient", "Transient"
    NETWORK = "network", "Network"
    REPOSITORY = "repository", "Repository"
    SOURCE = "source", "Source"
    AUTHENTICATION = "authentication", "Authentication"
    INTEGRITY = "integrity", "Integrity"
    SECURITY = "security", "Security"
    CONFIGURATION = "configuration", "Configuration"
    START_DEADLINE = "start_deadline", "Start deadline"
    OVER_RUNTIME = "over_runtime", "Over runtime"
    HOOK = "hook", "Hook"
    UNKNOWN = "unknown", "Unknown"


class CancelOrigin(TextChoices):
    """Who asked for a run's end; only `shutdown` queues it again."""

    USER = "user", "Person"
    SHUTDOWN = "shutdown", "Shutdown of the worker"
    JOB_DELETED = "job_deleted", "Job deleted"
    JOB_PAUSED = "job_paused", "Job paused"
    OVER_RUNTIME = "over_runtime", "Over runtime"
    HOOK = "hook", "A hook of the job"


class HookMoment(TextChoices):
    """When a hook runs; what comes after runs however the rest ended."""

    BEFORE_JOB = "before_job", "Before the job"
    BEFORE_SOURCE = "before_source", "Before a source"
    AFTER_SOURCE = "after_source", "After a source"
    ON_FAILURE = "on_failure", "On failure"
    AFTER_JOB = "after_job", "After the job"


class Priority(TextChoices):
    """Classes of the queue, see jobs.queue."""

    LOW = "low", "Low"
    NORMAL = "normal", "Normal"
    HIGH = "high", "High"
    CRITICAL = "critical", "Critical"


class RunnerKind(TextChoices):
    """What executes runs: a group of workers, or one agent on another machine."""

    GROUP = "group", "Worker group"
    AGENT = "agent", "Agent"


class SourceType(TextChoices):
    """What a job can back up."""

    FILESYSTEM = "filesystem", "Filesystem"


class ScheduleKind(TextChoices):
    """The kinds of B1; jobs.calendar says which of them it can compute."""

    MANUAL = "manual", "Manual"
    INTERVAL = "interval", "Interval"
    HOURLY = "hourly", "Hourly"
    DAILY = "daily", "Daily"
    WEEKLY = "weekly", "Weekly"
    MONTHLY = "monthly", "Monthly"
    CRON = "cron", "Cron"


class ScheduleState(TextChoices):
    """A flagged schedule plans nothing until it is mended; its reason says why."""

    ACTIVE = "active", "Active"
    FLAGGED = "flagged", "Flagged"


class MissedPolicy(TextChoices):
    """What happens to instants that passed while nothing claimed (A13)."""

    ONCE = "once", "Run once"
    ONCE_WITHIN = "once_within", "Run once within a time"
    NEVER = "never", "Never"


class DecisionOutcome(TextChoices):
    """What became of a range of planned instants (H7)."""

    RAN = "ran", "Ran"
    SKIPPED = "skipped", "Skipped"
    POSTPONED = "postponed", "Postponed"
    COALESCED = "coalesced", "Coalesced"
    PAUSED = "paused", "Paused"
    EXPIRED = "expired", "Expired"
    NO_FREE_INSTANT = "no_free_instant", "No free instant"


class WindowKind(TextChoices):
    """`blackout` forbids starts inside, `allowed` forbids them outside (B7)."""

    BLACKOUT = "blackout", "Blackout"
    ALLOWED = "allowed", "Allowed"


class HeldCode(TextChoices):
    """Why a waiting run waits (C3); the subject beside it names which repository, source or job."""

    JOB_PAUSED = "job_paused", "Job is paused"
    WINDOW = "window", "Maintenance window"
    FROZEN = "frozen", "Repository is frozen"
    BREAKER = "breaker", "Repository keeps failing"
    REPOSITORY_NOT_READY = "repository_not_ready", "Repository is not ready"
    REPOSITORY_LIMIT = "repository_limit", "Limit of the repository"
    SERIAL_GATE = "serial_gate", "Serial gate of the repository"
    SOURCE_LIMIT = "source_limit", "Limit of a source"
    SOURCE_RESERVED = "source_reserved", "Source is kept for a run that waited longer"
    GLOBAL_LIMIT = "global_limit", "Limit of the installation"
    NO_WORKER = "no_worker", "No worker of the group"
    NO_SLOT = "no_slot", "No free slot"
    RESTORE_SLOT = "restore_slot", "The last slot is kept for restores"
    NOT_TAKEN = "not_taken", "Not taken by the group"
    DEPENDENCY = "dependency", "Run of another job"
    DEPENDENCY_PAUSED = "dependency_paused", "Paused run of another job"
    DEPENDENCY_NEVER_RAN = "dependency_never_ran", "First run of another job"
    DEPENDENCY_FAILED = "dependency_failed", "Success of another job"
    UNSTARTABLE = "unstartable", "Cannot be prepared"


class BackupMode(TextChoices):
    """Whether a backup had a parent to compare with (A7)."""

    FULL = "full", "Full"
    INCREMENTAL = "incremental", "Incremental"


ACTIVE_STATES: Final = (RunState.QUEUED, RunState.RUNNING)
FINISHED_STATES: Final = (RunState.SUCCEEDED, RunState.PARTIAL_FAILURE, RunState.FAILED, RunState.CANCELLED)
OPEN_TASK_STATES: Final = (TaskState.PENDING, TaskState.RUNNING)
FINISHED_TASK_STATES: Final = (
    TaskState.SUCCEEDED,
    TaskState.PARTIAL_FAILURE,
    TaskState.FAILED,
    TaskState.CANCELLED,
    TaskState.SKIPPED,
)
# These say why there is no backup.
EXPLAINED_TASK_STATES: Final = (TaskState.FAILED, TaskState.SKIPPED)
# One at a time in a repository, whoever asks.
UPKEEP_KINDS: Final = (RunKind.CHECK, RunKind.PRUNE, RunKind.FORGET)

# From where to where a run may move; None is "no row yet". A finished run never moves: a trigger refuses it.
MOVES: Final[Mapping[RunState | None, frozenset[RunState]]] = {
    None: frozenset({RunState.QUEUED}),
    RunState.QUEUED: frozenset({RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    RunState.RUNNING: frozenset(FINISHED_STATES),
    RunState.SUCCEEDED: frozenset(),
    RunState.PARTIAL_FAILURE: frozenset(),
    RunState.FAILED: frozenset(),
    RunState.CANCELLED: frozenset(),
}

# The event of a run that its repository holds a backup of it no longer; its end stays what it was.
BACKUP_GONE: Final = "backup_gone"
