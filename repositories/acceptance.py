"""Whether a repository takes backups, and why not (E7): a pure rule over its state and its open freezes.

Reads and writes no row. The server decides it, so that no client has to know which states write.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from repositories.models import Repository, RepositoryFreeze, RepositoryState

# So long nobody has answered when workers are asked to open a repository once more.
INSPECTION_PATIENCE: Final = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no backup can go to a repository now: a stable code and a sentence for people."""

    code: str
    reason: str


def refusal_of(repository: Repository, freezes: Sequence[RepositoryFreeze]) -> Refusal | None:
    """Return why the repository takes no backups, or None; `freezes` are its open journal rows."""
    if repository.state == RepositoryState.FAILED:
        return Refusal("REPOSITORY_FAILED", f"It could not be opened: {repository.state_reason}")
    if repository.state != RepositoryState.ACTIVE:
        return Refusal(
            "REPOSITORY_NOT_OPENED",
            f"It was not opened yet: a worker of group {repository.worker_group!r} has to open it once "
            f"({_asked(repository)}).",
        )
    if freezes:
        oldest = min(freezes, key=lambda freeze: (freeze.frozen_at, freeze.pk))
        since = oldest.frozen_at.strftime("%Y-%m-%d %H:%M:%S UTC")
        return Refusal("REPOSITORY_FROZEN", f"It is frozen since {since}: {oldest.reason}")
    return None


def _asked(repository: Repository) -> str:
    if repository.inspection_rung_at is None:
        return "none was asked yet"
    at, seconds = repository.inspection_rung_at.strftime("%H:%M:%S UTC"), int(INSPECTION_PATIENCE.total_seconds())
    return f"they were asked last at {at}, and are again {seconds} s later until one answers"
