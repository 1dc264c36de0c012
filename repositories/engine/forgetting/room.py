"""Room for a deletion on a full medium: the reserve is given up for it, and what is left of the room taken again.

Owns that order. Without it nobody could delete anything where there is no room, nor a prune ever free some.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.errors import RepositoryError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.prune.reserve import RESERVE_BYTES, ReservedStorage
from repositories.engine.repository import Repository
from repositories.engine.retention.writing import NotesWriter


@dataclass(frozen=True, slots=True)
class Room:
    """`writer` may spend the reserve."""

    writer: NotesWriter
    storage: ReservedStorage

    @property
    def spent(self) -> bool:
        """Whether it did: the medium was full."""
        return self.storage.spent


@contextlib.contextmanager
def deleting(repository: Repository) -> Iterator[Room]:
    """Give a writer that may spend the reserve; afterwards the next deletion and the prune have one again."""
    storage = ReservedStorage(repository.storage)
    try:
        yield Room(NotesWriter(dataclasses.replace(repository.store, storage=storage), repository.clock), storage)
    finally:
        if storage.spent:
            _take_again(repository)


def _take_again(repository: Repository) -> None:
    # A little less than before, or backups at the same moment would fill what the prune must have.
    for eighths in (7, 6, 4, 2):
        with contextlib.suppress(RepositoryError):
            repository.storage.put(RESERVE_NAME, repository.store.randomness(RESERVE_BYTES * eighths // 8))
            return
