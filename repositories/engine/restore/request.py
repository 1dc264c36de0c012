"""What a restore is asked to do, and what it says at the end.

Owns values only. Paths are bytes; those of results are relative to the source.
"""

import enum
from dataclasses import dataclass, field


class Overwrite(enum.StrEnum):
    """What happens to an object that is there already and differs from the backup's."""

    NEVER = "never"
    IF_NEWER = "if-newer"
    IF_CHANGED = "if-changed"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """`target` is the directory that gets the source's contents; it is made if it does not exist.

    `paths` restricts to these objects and what lies below them: relative to the source, or absolute within it.
    `verify` reads the restored files back and compares them. `keep_out`: directories in which the target must not lie,
    such as the repository itself.
    """

    target: bytes
    paths: tuple[bytes, ...] = ()
    overwrite: Overwrite = Overwrite.NEVER
    verify: bool = False
    keep_out: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What was restored. `existing` were identical already, `kept` differ and were left, `damaged` are not restored
    for their content or manifest is broken, `failed` could not be written or differ afterwards. `warnings` counts
    attributes by class, also those of objects that were there. Of the `existing` files `not_compared` were taken for
    identical by size and attributes alone; `unverified` restored files are closed to us by their own mode.

    The path lists hold the first 100 of each.
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
    warnings: dict[str, int] = field(default_factory=dict)
    kept_paths: list[bytes] = field(default_factory=list)
    damaged_paths: list[bytes] = field(default_factory=list)
    failed_paths: list[tuple[bytes, str]] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """13 when something was damaged, 3 when something was kept or could not be written, else 0."""
        if self.damaged:
            return 13
        return 3 if self.kept or self.failed else 0
