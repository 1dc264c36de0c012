"""The room that only deletion may spend: 4 MiB, given up when one meets a full medium, taken again when there is room.

Owns the object `reserve`. A prune must put a lease, a mark, a sweep and an index before it may delete anything: without
the reserve a full medium could never be cleaned.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

from repositories.engine.display import show_bytes
from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.ids import Randomness
from repositories.engine.limits import MIB
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.delegating import DelegatingStorage

RESERVE_BYTES = 4 * MIB
# It is written beside what is left of it, and something is left for what others put meanwhile.
_ROOM_WANTED = RESERVE_BYTES + MIB


class ReservedStorage(DelegatingStorage):
    """Passes everything to `inner`. A put that finds the medium full gives up the reserve and is tried again.

    Packs are no such put: repacking ends where there is no room. `spent` tells whether the reserve was given up.
    """

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.spent = False
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put; once more after the reserve was given up. Raises StorageFullError when that was not enough."""
        try:
            self.inner.put(name, data, overwrite=overwrite)
        except StorageFullError:
            if not self._give_up():
                raise
            self.inner.put(name, data, overwrite=overwrite)

    def list_all(self, prefixes: Sequence[str]) -> Iterator[StoredObject]:
        """List several prefixes at once."""
        return self.inner.list_all(prefixes)

    def sizes(self, prefix: str) -> Iterator[Mapping[str, int]]:
        """List sizes."""
        return self.inner.sizes(prefix)

    def move(self, name: str, target: str) -> None:
        """Move; once more after the reserve was given up: a new name may need room for a directory, or a copy."""
        try:
            self.inner.move(name, target)
        except StorageFullError:
            if not self._give_up():
                raise
            self.inner.move(name, target)

    def _give_up(self) -> bool:
        """Remove the reserve; return whether that made room now or a moment ago."""
        with self._lock:
            with contextlib.suppress(ObjectMissingError):
                self.inner.delete(RESERVE_NAME)
                self.spent = True
            return self.spent


def put_back(storage: Storage, randomness: Randomness) -> str:
    """Put the reserve if it is not there, or cut, and there is room for it; return why it is not whole now, or "".

    A medium that refuses is no failure of the prune: the next one tries again. What is left of it stays until then.
    """
    with contextlib.suppress(ObjectMissingError):
        if storage.size(RESERVE_NAME) >= RESERVE_BYTES:
            return ""
    free = storage.free_space()
    if free is not None and free < _ROOM_WANTED:
        return f"to put it back takes {show_bytes(_ROOM_WANTED)} of free room, and {show_bytes(free)} are free"
    try:
        storage.put(RESERVE_NAME, randomness(RESERVE_BYTES), overwrite=True)
    except RepositoryError as error:
        return f"the medium does not take it: {error.message}"
    return ""
