"""What is asked of a copy, and what it tells when it has ended.

Owns the values only.
"""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from repositories.engine.manifest.backups import Backup
from repositories.engine.repository import WriteSession

FLUSH_SECONDS = 600.0
INTEGRITY_EXIT = 13
Guard = Callable[[WriteSession], AbstractContextManager[None]]


def unguarded(_: WriteSession) -> AbstractContextManager[None]:
    """Do nothing around what a session writes."""
    return contextlib.nullcontext()


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """Which backups: those named by `backups` (ids, parts of ids, `latest`), of one `source` if it is given, else all.

    With `dry_run` nothing is written. What was stored is made findable every `flush_seconds`, so that a copy that is
    broken off goes on from there. `guard` is entered around all that is written in a session of the target.
    """

    backups: tuple[str, ...] = ()
    source: str | None = None
    dry_run: bool = False
    compression: str = "default"
    flush_seconds: float = FLUSH_SECONDS
    guard: Guard = unguarded


@dataclass(frozen=True, slots=True)
class CopiedBackup:
    """A backup that was copied, or would be; `manifest_id` is its manifest in the target, empty in a dry run.

    `missing_bytes` is the content that the target lacked, before compression.
    """

    backup: Backup
    manifest_id: str
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class FailedCopy:
    """A backup that cannot be read whole, and is not in the target for that reason."""

    backup: Backup
    reason: str


@dataclass(slots=True)
class CopyReport:
    """How a copy ends, filled on the way; sizes in bytes.

    `there` were in the target already, `deleted_there` are deleted in it, and stay so; `healed` were there, hurt by the
    last check, and what they lacked was stored again. `resealed_blocks` went over without being compressed again.
    `damaged_manifests` of the origin may be further backups; `gone` were deleted there, and taken by a prune, before
    they had been copied. `labels_carried` tags, notes and holds were put on copies, `labels_ended` that earlier copies
    had brought were withdrawn; `damaged_labels` of the origin, which may be further ones, cannot be read.
    """

    related: bool
    copied: list[CopiedBackup] = field(default_factory=list)
    healed: list[CopiedBackup] = field(default_factory=list)
    failed: list[FailedCopy] = field(default_factory=list)
    there: int = 0
    deleted_there: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    new_chunks: int = 0
    resealed_blocks: int = 0
    damaged_manifests: list[str] = field(default_factory=list)
    gone: list[Backup] = field(default_factory=list)
    labels_carried: int = 0
    labels_ended: int = 0
    damaged_labels: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0, or 13 when a backup, or what was said of it, could not be read."""
        return INTEGRITY_EXIT if self.failed or self.damaged_manifests or self.damaged_labels else 0
