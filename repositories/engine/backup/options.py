"""What a backup is asked to do, how it talks back, and what it says at the end.

Owns values only. Paths and names are bytes, times integer ns, sizes bytes.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.manifest.problems import Problem, ProblemCount
from repositories.engine.progress import Progress
from repositories.engine.throttle import Throttle

CHECKPOINT_SECONDS = 600.0
FIRST_CHECKPOINT_SECONDS = 30.0
LogLevel = Literal["info", "warning"]


class SourceSpec(msgspec.Struct, frozen=True):
    """One source. `name` is what parent and chain hang on; `path` is absolute.

    `skip_paths` are never backed up, wherever they lie below the source: the repository and Syncova's own data.
    Of the files that seem unchanged, about `reread_percent` of 100 are read nevertheless.
    """

    name: str
    path: bytes
    type: str = "filesystem"
    excludes: tuple[str, ...] = ()
    one_file_system: bool = False
    ignore_inode: bool = False
    ignore_ctime: bool = False
    skip_paths: tuple[bytes, ...] = ()
    exclude_ignoring_case: bool = False
    exclude_caches: bool = False
    reread_percent: int = 0


class BackupOptions(msgspec.Struct, frozen=True):
    """About one backup. `parent` names a backup to compare with (else the newest of the source).

    `strict` raises warnings to skipped. `accept_new_root` allows a source that is suddenly empty,
    against its last backup or while it is read; one that vanishes is never allowed. The first checkpoint is put after
    `first_checkpoint_seconds`, each further one when the backup has taken twice as long as at the last, but at most
    `checkpoint_seconds` after it.
    """

    backup_id: str
    run_id: str
    host: str = ""
    strict: bool = False
    scheduled_for_ns: int | None = None
    parent: str | None = None
    tags: tuple[str, ...] = ()
    accept_new_root: bool = False
    trigger: str = "external"
    run_fence: int | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    first_checkpoint_seconds: float = FIRST_CHECKPOINT_SECONDS


def _ignore(progress: Progress) -> None:
    """Show nothing."""


def _never() -> bool:
    return False


def _unheard(level: LogLevel, message: str) -> None:
    """Log nothing."""


def _agreed() -> None:
    """Nobody has to agree."""


class Hooks(msgspec.Struct, frozen=True):
    """How an operation talks to whoever started it.

    `report` gets progress (rarely is the caller's business); `cancelled` is asked several times a second; `confirm`
    is called directly before the commit and raises to forbid it; `read_bucket` limits reading of the source; `log` gets
    lines for people.
    """

    report: Callable[[Progress], None] = _ignore
    cancelled: Callable[[], bool] = _never
    confirm: Callable[[], None] = _agreed
    read_bucket: Throttle | None = None
    clock: Clock = SYSTEM_CLOCK
    log: Callable[[LogLevel, str], None] = _unheard


class BackupResult(msgspec.Struct, frozen=True):
    """A committed backup. `problems` are the first 100, skipped before warnings; all of them lie in the manifest.

    `problem_counts` tells how many of each kind there were, notes too.
    """

    backup_id: str
    manifest_id: str
    parent_id: str | None
    chain: str
    mode: str
    files: int
    directories: int
    links: int
    others: int
    logical_bytes: int
    bytes_read: int
    bytes_stored: int
    new_chunks: int
    skipped: int
    warnings: int
    notes: int
    started_ns: int
    finished_ns: int
    sequence: int
    problems: list[Problem] = msgspec.field(default_factory=list)
    problem_counts: tuple[ProblemCount, ...] = ()
