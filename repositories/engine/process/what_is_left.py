"""What can be looked at in a repository whose inventory, or a sweep, is lost.

Owns telling such a repository from a whole one, what is said where a backup is not among what is left of a lost
inventory, and looking past a lost sweep. Opening the repository is `opening`'s.
"""

import dataclasses
from collections.abc import Callable

from repositories.engine.errors import (
    BackupDeletedError,
    BackupNotFoundError,
    EngineError,
    InventoryLostError,
)
from repositories.engine.manifest.backups import Backup, find_backup
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import FenceLostError


def is_in_part(repository: Repository) -> bool:
    """Tell whether the repository was opened without its inventory, so that nothing older than its keys is shown."""
    return isinstance(repository.refuse_writing, InventoryLostError)


def is_past_sweeps(repository: Repository) -> bool:
    """Tell whether a sweep was found to be lost and was looked past: more is shown than what counts, perhaps."""
    return isinstance(repository.refuse_writing, FenceLostError)


def look_past_sweeps(repository: Repository, met: Callable[[], None] | None = None) -> None:
    """Let this repository, which is only looked at, be read where a sweep is lost; `met` is called when one is.

    Every whole manifest counts then, which is warned of once, and nothing may be written any more.
    """
    told: list[EngineError] = []

    def look_past(lost: EngineError) -> None:
        if told:
            return
        told.append(lost)
        repository.refuse_writing = repository.refuse_writing or lost
        repository.warn(
            f"{lost.message}; all backups that are whole are shown: such as were deleted or given up may be among "
            f"them, and lack content. Nothing is written; {lost.hint}"
        )
        if met is not None:
            met()

    repository.store = dataclasses.replace(repository.store, past_sweeps=look_past)


def choose_backup(
    repository: Repository, selector: str, source: str | None = None, *, at_ns: int | None = None
) -> Backup:
    """Return what `find_backup` returns; it raises the same.

    One that is not there may be among what a lost inventory leaves out: then InventoryLostError is raised.
    """
    try:
        return find_backup(repository, selector, source, at_ns=at_ns)
    except BackupNotFoundError as error:
        lost = repository.refuse_writing
        if isinstance(lost, InventoryLostError) and not isinstance(error, BackupDeletedError):
            raise lost from error
        raise
