"""What a restore is asked to do, and what it says at the end.

Owns values only. Paths are bytes; those of results are relative to the source.
"""

import enum
from dataclasses import dataclass, field

from repositories.engine.restore.shortfalls import Shortfall


class Overwrite(enum.StrEnum):
    """What happens to an object that is there already and differs from the backup's."""

    NEVER = "never"
    IF_NEWER = "if-newer"
    IF_CHANGED = "if-changed"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a restore with `--delete` may remove: what the backup does not hold, below the paths that are restored.

    `before_ns`: what was changed then or later stays, for it was in no plan that anybody has seen; None = no limit.
    `spare`: directories that stay with all they hold, such as Syncova's own data.
    """

    before_ns: int | None = None
    spare: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """`target` is the directory that gets the source's contents; it is made if it does not exist.

    `paths` restricts to these objects and what lies below them: relative to the source, or absolute within it.
    `verify` reads the restored files back and compares them. `keep_out`: directories in which the target must not lie,
    such as the repository itself. `deletion` None = nothing is deleted; with it, `overwrite` must not be NEVER.
    """

    target: bytes
    paths: tuple[bytes, ...] = ()
    overwrite: Overwrite = Overwrite.NEVER
    verify: bool = False
    keep_out: tuple[bytes, ...] = ()
    deletion: Deletion | None = None


@dataclass(frozen=True, slots=True)
class DeletionResult:
    """What was deleted, or in a plan would be. `scope` = the paths below which things are; "" is all of the source.

    `deleted` counts objects, `deleted_bytes` the sizes of files; `deleted_paths` are the topmost, each with the number
    of objects that went with it. `spared` objects are not in the backup and stay, each for its reason; `failed` could
    not be deleted. `refused` says why nothing at all is deleted. The path lists hold the first 100 of each.
    """

    scope: list[bytes]
    deleted: int = 0
    deleted_bytes: int = 0
    spared: int = 0
    failed: int = 0
    deleted_paths: list[tuple[bytes, int]] = field(default_factory=list)
    spared_paths: list[tuple[bytes, str]] = field(default_factory=list)
    failed_paths: list[tuple[bytes, str]] = field(default_factory=list)
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would do, had it been asked at `planned_ns` and nobody changed anything.

    `created` and `replaced` are objects (`created_bytes`, `replaced_bytes` their contents), `existing` and `kept` as
    in a result; `unknown` could not be looked at. `damaged` objects are in pages of the manifest that cannot be read.
    The path lists hold the first 100 of each.
    """

    planned_ns: int
    created: int = 0
    created_bytes: int = 0
    replaced: int = 0
    replaced_bytes: int = 0
    existing: int = 0
    kept: int = 0
    unknown: int = 0
    damaged: int = 0
    created_paths: list[bytes] = field(default_factory=list)
    replaced_paths: list[bytes] = field(default_factory=list)
    kept_paths: list[bytes] = field(default_factory=list)
    unknown_paths: list[bytes] = field(default_factory=list)
    damaged_paths: list[bytes] = field(default_factory=list)
    deletion: DeletionResult | None = None

    @property
    def exit_code(self) -> int:
        """What the restore would end with: 13 when a part of the manifest cannot be read, 3 when something would be
        kept, or not deleted, else 0.
        """
        return 13 if self.damaged else 3 if self.kept or _is_undeleted(self.deletion) else 0


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What was restored. `existing` were identical already, `kept` differ and were left, `damaged` are not restored
    for their content or manifest is broken, `failed` could not be written or differ afterwards. `warnings` counts
    attributes by class, also those of objects that were there; `shortfalls` tells these, and classes of objects that
    failed, by file system. Of the `existing` files `not_compared` were taken for
    identical by size and attributes alone; `unverified` restored files are closed to us by their own mode. `collided`
    objects are not restored: the target takes their names, or that of a directory above, for those of others. `swapped`
    directories, or objects in them, are not restored: somebody exchanged the directory in the target meanwhile.

    The path lists hold the first 100 of each; `collided_paths` have the topmost, each with the one it collides with.
    """

    files: int
    directories: int
    links: int
    others: int
    bytes_written: int
    existing: int
    kept: int
    damaged: int
    failed: int
    verified_files: int
    not_compared: int = 0
    unverified: int = 0
    collided: int = 0
    swapped: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    kept_paths: list[bytes] = field(default_factory=list)
    damaged_paths: list[bytes] = field(default_factory=list)
    failed_paths: list[tuple[bytes, str]] = field(default_factory=list)
    collided_paths: list[tuple[bytes, bytes]] = field(default_factory=list)
    swapped_paths: list[bytes] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    deletion: DeletionResult | None = None

    @property
    def exit_code(self) -> int:
        """13 when something was damaged, or swapped in the target; 3 when something was kept, collided, or not written
        or deleted; else 0.
        """
        if self.damaged or self.swapped:
            return 13
        return 3 if self.kept or self.failed or self.collided or _is_undeleted(self.deletion) else 0


def _is_undeleted(deletion: DeletionResult | None) -> bool:
    return deletion is not None and bool(deletion.failed or deletion.refused)
