"""The executor's interface (A2): what the loop hands in and what it takes back, and the executors of the loop itself.

Owns values and protocols. Knows no engine, no repository and no row: loop tests run against RecordingExecutor, and
with nothing configured every run fails with EXECUTOR_NOT_CONFIGURED instead of pretending (A3).
"""

import datetime as dt
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from jobs.states import BackupMode, CancelOrigin, FailureClass, HookMoment, RunKind, TaskState, Trigger


@dataclass(frozen=True, slots=True)
class ExecutionSource:
    """One source to back up; `path` is exact bytes, `name` is shown, `chain` is the one open chain (A7)."""

    task_run_id: uuid.UUID
    source_id: uuid.UUID
    name: str
    type: str
    path: bytes
    excludes: tuple[str, ...]
    chain: str


@dataclass(frozen=True, slots=True)
class HookCall:
    """A hook that a job names; what the name runs only the executing machine knows."""

    moment: HookMoment
    name: str


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """Everything that an executor may know of a run; taken from the revision pinned at admission."""

    run_id: uuid.UUID
    fence: int
    kind: RunKind
    repository_id: uuid.UUID
    job_id: uuid.UUID | None
    job_name: str
    revision: int | None
    sources: tuple[ExecutionSource, ...]
    # Bytes per second on reading, shared by all sources of the run; None is unlimited (C7).
    bandwidth_limit_bps: int | None
    strict: bool
    scheduled_for: dt.datetime
    trigger: Trigger
    attempt: int
    max_runtime_seconds: int | None
    parameters: Mapping[str, Any]
    # Somebody has confirmed what the sources hold now, however little it is beside their last backups (2.6).
    accept_new_root: bool = False
    # In the job's order.
    hooks: tuple[HookCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or one of its sources failed; never holds a secret."""

    code: str
    message: str
    failure_class: FailureClass
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a backup read and stored: counts, and bytes (C9)."""

    files: int = 0
    directories: int = 0
    links: int = 0
    others: int = 0
    skipped: int = 0
    warnings: int = 0
    notes: int = 0
    logical_bytes: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    new_chunks: int = 0


NO_FIGURES: Final = Figures()


@dataclass(frozen=True, slots=True)
class SourceResult:
    """What became of one source. `state` is succeeded, failed or cancelled; skipped objects are told by `figures`.

    The times are the executing host's and are bounded by the database's when they are written. `skip_reasons` counts
    skipped objects by reason; `problems` holds the first hundred as JSON values.
    """

    task_run_id: uuid.UUID
    state: TaskState
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    failure: Failure | None = None
    backup_id: str = ""
    manifest_id: str = ""
    parent_backup_id: str = ""
    chain: str = ""
    mode: BackupMode | None = None
    figures: Figures = NO_FIGURES
    skip_reasons: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Damage:
    """What was found damaged, or not to be trusted: the registered repository, and the reason that people read."""

    repository_id: uuid.UUID
    reason: str


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What an executor returns: a failure of the whole run, a cancel that it obeyed, and each source's result.

    `elsewhere`: the id of the repository that the run met in place of the adopted one (A10), "" when it was that one.
    `damage` freezes its repository in the transaction that ends the run (G5).
    `hooks_warned` are the hooks that ended in a warning, each with when and how; they count among the run's warnings.
    `figures` and `skip_reasons` are of a run that has no sources: what a restore wrote, what it left as it was.
    """

    failure: Failure | None = None
    cancelled: CancelOrigin | None = None
    sources: tuple[SourceResult, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: str = ""
    figures: Figures = NO_FIGURES
    skip_reasons: Mapping[str, int] = field(default_factory=dict)
    damage: Damage | None = None
    hooks_warned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: written to a column, never an event. `current` is a path as shown to people."""

    phase: str
    files: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    current: str = ""


class ExecutionControl(Protocol):
    """What an executor may ask and tell while it works."""

    def cancelled(self) -> CancelOrigin | None:
        """Return who asked for the end, or None; asked every second or two."""

    def heartbeat(self, progress: Progress) -> None:
        """Tell progress; it is written at most once per heartbeat interval."""

    def confirm(self) -> None:
        """Return if the run's fence still holds, having written so; raises LeaseLostError: commit nothing."""

    def log(self, level: str, message: str) -> None:
        """Append one line to the run's log."""


class Executor(Protocol):
    """Does a run's work; must not write rows. Returns a result for everything it can explain, raises for bugs."""

    def execute(self, request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        """Do the work and say what was done."""


class NotConfiguredExecutor:
    """Fails every run: nothing reports success without having done the work (A3)."""

    def execute(self, request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        """Return EXECUTOR_NOT_CONFIGURED."""
        return ExecutionResult(
            failure=Failure(
                "EXECUTOR_NOT_CONFIGURED",
                "No executor is configured, so nothing was backed up.",
                FailureClass.CONFIGURATION,
                hint="Set SYNCOVA_EXECUTOR on the worker and restart it.",
            )
        )


Answer = Callable[[ExecutionRequest, ExecutionControl], ExecutionResult]


class RecordingExecutor:
    """Remembers each request and answers as told; thread safe. For tests of the loop, with no repository."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self._requests: list[ExecutionRequest] = []

    @property
    def requests(self) -> tuple[ExecutionRequest, ...]:
        """The requests so far, in the order of their coming."""
        with self._lock:
            return tuple(self._requests)

    def execute(self, request: ExecutionRequest, control: ExecutionControl) -> ExecutionResult:
        """Record, then answer."""
        with self._lock:
            self._requests.append(request)
        return self._answer(request, control)
