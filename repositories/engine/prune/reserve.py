"""The room that only deletion may spend: 4 MiB, given up when a prune meets a full medium, taken again at its end.

Owns the object `reserve`. A prune must put a lease, a mark, a sweep and an index before it may delete anything: without
the reserve a full medium could never be cleaned.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping

from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.ids import Randomness
from repositories.engine.limits import MIB
from repositories.engine.storage.base import Storage, StoredObject

RESERVE_BYTES = 4 * MIB
_ROOM_WANTED = 4 * RESERVE_BYTES


class ReservedStorage(Storage):
    """Passes everything to `inner`. A put that finds the medium full gives up the reserve and is tried again.

    Packs are no such put: repacking ends where there is no room. `spent` tells whether the reserve was given up.
    """

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.spent = False
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """Return where the medium is."""
        return self.inner.place

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put; once more after the reserve was given up. Raises StorageFullError when that was not enough."""
        try:
            self.inner.put(name, data, overwrite=overwrite)
        except StorageFullError:
            if not self._give_up():
                raise
            self.inner.put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        """Put a file."""
        self.inner.put_file(name, path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read."""
        return self.inner.get(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size."""
        return self.inner.size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List."""
        return self.inner.list(prefix)

    def sizes(self, prefix: str) -> Iterator[Mapping[str, int]]:
        """List sizes."""
        return self.inner.sizes(prefix)

    def delete(self, name: str) -> None:
        """Remove an object."""
        self.inner.delete(name)

    def move(self, name: str, target: str) -> None:
        """Move; once more after the reserve was given up: a new name may need room for a directory, or a copy."""
        try:
            self.inner.move(name, target)
        except StorageFullError:
            if not self._give_up():
                raise
            self.inner.move(name, target)

    def free_space(self) -> int | None:
        """Return the free bytes."""
        return self.inner.free_space()

    def scratch_directory(self) -> str | None:
        """Return the scratch directory."""
        return self.inner.scratch_directory()

    def listing_delay(self) -> float:
        """Return how long others may see older listings."""
        return self.inner.listing_delay()

    def prepare(self) -> None:
        """Prepare the medium."""
        self.inner.prepare()

    def _give_up(self) -> bool:
        """Remove the reserve; return whether that made room now or a moment ago."""
        with self._lock:
            with contextlib.suppress(ObjectMissingError):
                self.inner.delete(RESERVE_NAME)
                self.spent = True
            return self.spent


def put_back(storage: Storage, randomness: Randomness) -> bool:
    """Put the reserve if it is not there, or cut, and there is room for more than it; return whether it is whole now.

    A medium that refuses is no failure of the prune: the next one tries again. What is left of it stays until then.
    """
    with contextlib.suppress(ObjectMissingError):
        if storage.size(RESERVE_NAME) >= RESERVE_BYTES:
            return True
    free = storage.free_space()
    if free is not None and free < _ROOM_WANTED:
        return False
    try:
        storage.put(RESERVE_NAME, randomness(RESERVE_BYTES), overwrite=True)
    except RepositoryError:
        return False
    return True
