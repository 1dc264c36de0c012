"""Room on a full medium. For a deletion the reserve is given up, and what is left of its room taken again.

Owns that order: without it nobody could delete anything where there is no room, nor a prune ever free some. And owns
what is advised to whom keeps a backup where there is none: anything but a prune, which might take that very backup.
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.errors import StorageFullError
from repositories.engine.prune.reserve import ReservedStorage, ReserveLeft, put_back
from repositories.engine.repository import Repository
from repositories.engine.retention.writing import NotesWriter


@dataclass(slots=True)
class Room:
    """`writer` may spend the reserve; `left` is what there is of it at the end, if it did."""

    writer: NotesWriter
    storage: ReservedStorage
    left: ReserveLeft | None = None

    @property
    def spent(self) -> bool:
        """Whether it did: the medium was full."""
        return self.storage.spent


@contextlib.contextmanager
def deleting(repository: Repository) -> Iterator[Room]:
    """Give a writer that may spend the reserve; afterwards the next deletion and the prune have one again."""
    storage = ReservedStorage(repository.storage, repository.store.randomness)
    room = Room(NotesWriter(dataclasses.replace(repository.store, storage=storage), repository.clock), storage)
    try:
        yield room
    finally:
        if storage.spent:
            room.left = put_back(repository.storage, repository.store.randomness)


@contextlib.contextmanager
def keeping() -> Iterator[None]:
    """Where the medium is full, advise to make room without a prune: what is deleted can be brought back until one."""
    try:
        yield
    except StorageFullError as error:
        raise StorageFullError(
            error.message,
            hint="remove other files on the medium or take a larger one, then run this again; do not prune before: "
            "a prune takes deleted backups for good",
        ) from error
