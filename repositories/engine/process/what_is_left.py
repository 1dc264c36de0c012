"""What can be looked at in a repository whose inventory is lost: what the newest keys have sealed.

Owns telling such a repository from a whole one, and what is said where a backup is not among what is left. Opening it
is `opening`'s.
"""

from repositories.engine.errors import BackupDeletedError, BackupNotFoundError, InventoryLostError
from repositories.engine.manifest.backups import Backup, find_backup
from repositories.engine.repository import Repository


def is_in_part(repository: Repository) -> bool:
    """Tell whether the repository was opened without its inventory, so that nothing older than its keys is shown."""
    return isinstance(repository.refuse_writing, InventoryLostError)


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
