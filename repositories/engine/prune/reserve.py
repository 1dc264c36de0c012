"""The room that only deletion may spend: 4 MiB, given up when one meets a full medium, taken again at once.

Owns the object `reserve`. A prune must put a lease, a mark, a sweep and an index before it may delete anything: without
the reserve a full medium could never be cleaned. What one put leaves of it is taken again right behind that put: a
prune may wait for hours, and backups would fill what lies open meanwhile.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from repositories.engine.display import show_bytes
from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.ids import Randomness, system_randomness
from repositories.engine.limits import MIB
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.delegating import DelegatingStorage

RESERVE_BYTES: Final = 4 * MIB
# With so much it is written beside what is left of it; with less the old one goes first.
_ROOM_BESIDE: Final = RESERVE_BYTES + MIB
# A gain for which the old one goes; media count room in blocks.
_GAIN: Final = RESERVE_BYTES // 8
_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class ReserveLeft:
    """How many bytes the reserve has; `lack` says why it is not whole, or nothing."""

    size: int
    lack: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether less than half of it is left: the next deletion on a full medium may fail."""
        return self.size < RESERVE_BYTES // 2


class ReservedStorage(DelegatingStorage):
    """Passes everything to `inner`. A put that finds the medium full gives up the reserve and is tried again.

    What it leaves of the reserve's room is taken again before the put returns. Packs are no such put: repacking ends
    where there is no room. `spent` tells whether the reserve was given up.
    """

    def __init__(self, inner: Storage, randomness: Randomness = system_randomness) -> None:
        super().__init__(inner)
        self.spent = False
        self._randomness = randomness
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put; once more after the reserve was given up. Raises StorageFullError when that was not enough."""
        try:
            self.inner.put(name, data, overwrite=overwrite)
        except StorageFullError:
            self._with_the_reserve(lambda: self.inner.put(name, data, overwrite=overwrite))

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
            self._with_the_reserve(lambda: self.inner.move(name, target))

    def _with_the_reserve(self, again: Callable[[], None]) -> None:
        """Do it `again` without the reserve, then take what is left of it. One thread at a time spends it.

        It is also done again where there is none: another process may have given it up at this moment.
        """
        with self._lock:
            gave = self._give_up()
            try:
                again()
            except StorageFullError as error:
                raise _used_up(error) from error
            finally:
                if gave:
                    _take(self.inner, self._randomness, RESERVE_BYTES)

    def _give_up(self) -> bool:
        with contextlib.suppress(ObjectMissingError):
            self.inner.delete(RESERVE_NAME)
            self.spent = True
            return True
        return False


def _used_up(full: StorageFullError) -> StorageFullError:
    return StorageFullError(
        f"{full.message}, and the reserve, by which a full medium is cleaned, is used up or too small for it",
        hint=f"free {show_bytes(_ROOM_BESIDE)} otherwise: remove other files on the medium, or take a larger one; "
        "then run this again",
    )


def put_back(storage: Storage, randomness: Randomness) -> ReserveLeft:
    """Make the reserve whole, or as large as the room allows; return what there is of it now.

    A medium that refuses is no failure of the prune: the next one tries again. What is left of it stays until then,
    unless it would become whole, or grow by an eighth, in the room that it takes itself.
    """
    have = _size(storage)
    free = storage.free_space()
    if have >= RESERVE_BYTES:
        return ReserveLeft(have)
    refusal = ""
    if free is None or free >= _ROOM_BESIDE:
        refusal = _put(storage, randomness, RESERVE_BYTES)
    elif (room := min(have + free, RESERVE_BYTES)) == RESERVE_BYTES or room - have >= _GAIN:
        with contextlib.suppress(RepositoryError):
            storage.delete(RESERVE_NAME)
        refusal = _take(storage, randomness, room)
    return _left(storage, refusal)


def _left(storage: Storage, refusal: str) -> ReserveLeft:
    have = _size(storage)
    if have >= RESERVE_BYTES:
        return ReserveLeft(have)
    why = f"{show_bytes(RESERVE_BYTES - have)} of {show_bytes(RESERVE_BYTES)} are missing"
    free = storage.free_space()
    if free is not None and free < _ROOM_BESIDE:
        return ReserveLeft(have, f"{why}, and {show_bytes(free)} are free")
    return ReserveLeft(have, f"{why}; the medium does not take it: {refusal or 'no room is left'}")


def _take(storage: Storage, randomness: Randomness, most: int) -> str:
    """Put a reserve of `most` bytes, or what fits, unless there is one; return why nothing was put, or ""."""
    free = storage.free_space()
    fits = most if free is None else min(most, free)
    refusal = "no room is left"
    # Others write at the same moment, and not all that counts as free can be used.
    for size in (fits, *(fits * eighths // 8 for eighths in (7, 6, 4, 2, 1))):
        if size < _BLOCK:
            break
        try:
            # Another process may have put a larger one meanwhile.
            storage.put(RESERVE_NAME, randomness(size))
        except StorageFullError as error:
            refusal = error.message
        except RepositoryError as error:
            return error.message
        else:
            return ""
    return refusal


def _put(storage: Storage, randomness: Randomness, size: int) -> str:
    try:
        storage.put(RESERVE_NAME, randomness(size), overwrite=True)
    except RepositoryError as error:
        return error.message
    return ""


def _size(storage: Storage) -> int:
    try:
        return storage.size(RESERVE_NAME)
    except ObjectMissingError:
        return 0
