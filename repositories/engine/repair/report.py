"""What a repair is asked to do, its steps, and what it left.

Owns values, and the collector that carries steps out or only tells them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.check.report import CheckReport
from repositories.engine.errors import (
    CommitRefusedError,
    EngineError,
    OperationCancelledError,
    StorageFullError,
    StorageReadOnlyError,
)
from repositories.engine.prune.reserve import ReserveLeft
from repositories.engine.repair.aside import AsideObject

STEPS_LISTED: Final = 1000
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """`dry_run`: write nothing, tell the steps. `read_data`: read all packs first, to find all that is bad.

    `adopt`: ids of manifests or backups, or unique beginnings of them, of void manifests to make backups of; or `all`.
    `secret` is the password: by it alone a damaged keyring can be told from its whole copy.
    """

    dry_run: bool = False
    read_data: bool = False
    adopt: tuple[str, ...] = ()
    secret: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One thing that is hurt, and what was done: `done` is False in a dry run, and for what could not be mended.

    `kind` is stable: mark, sweep, copy, note, pack, index, aside, manifest, reserve. `object` names what.
    """

    kind: str
    object: str
    message: str
    done: bool


@dataclass(frozen=True, slots=True)
class RepairReport:
    """`steps` are the first 1,000 of `step_count`, of which `undone` failed. `after` is the check that ended it.

    In a dry run that is the check it began with. `chunks_saved` were stored anew out of bad packs, `chunks_lost` could
    not be read there and lie nowhere else; `adopted` are backup ids. `aside` is what lies aside at the end, whoever
    moved it there. `reserve`: what there is of the reserve, if the medium was full and it was used.
    """

    steps: list[RepairStep]
    step_count: int
    undone: int
    chunks_saved: int
    chunks_lost: int
    adopted: tuple[str, ...]
    after: CheckReport
    dry_run: bool
    aside: tuple[AsideObject, ...] = ()
    reserve: ReserveLeft | None = None

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong any more; 3 when it used up the reserve; else 13."""
        if self.undone or not self.after.ok:
            return 13
        return 3 if self.reserve is not None and self.reserve.is_gone else 0


class Steps:
    """Carries out steps, or only takes note of them; one thread."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.listed: list[RepairStep] = []
        self.count = 0
        self.undone = 0
        self.chunks_saved = 0
        self.chunks_lost = 0

    def do(self, kind: str, name: str, message: str, action: Callable[[], None]) -> bool:
        """Carry out `action`; return whether it was done. What cannot be done is told, and the repair goes on.

        Raises StorageFullError, StorageReadOnlyError and CommitRefusedError (the keys were rotated), since then nothing
        else can be done either, and OperationCancelledError.
        """
        if self.dry_run:
            self._add(RepairStep(kind, name, message, done=False))
            return False
        try:
            action()
        except (StorageFullError, StorageReadOnlyError, CommitRefusedError, OperationCancelledError):
            raise
        except EngineError as error:
            self.fail(kind, name, f"{message}: that failed: {error.message}")
            return False
        self._add(RepairStep(kind, name, message, done=True))
        return True

    def fail(self, kind: str, name: str, message: str) -> None:
        """Take note of what cannot be mended."""
        self.undone += 1
        self._add(RepairStep(kind, name, message, done=False))

    def _add(self, step: RepairStep) -> None:
        self.count += 1
        if len(self.listed) < STEPS_LISTED:
            self.listed.append(step)
