"""A storage wrapper that breaks at the n-th write: for tests of everything that must survive it.

Owns three kinds of breakage. After a tear or a kill the storage is dead, as it is for a process that was killed: every
later call raises, so that no clean-up code can help.
"""

import enum
import pathlib
import threading
from collections.abc import Iterator

from repositories.engine.errors import StorageFullError
from repositories.engine.storage.base import Storage, StoredObject


class Fault(enum.Enum):
    """FAIL: the write raises StorageFullError, and so do all later ones. TEAR: half the object becomes visible, then
    the process is dead. KILL: the process is dead before the write.
    """

    FAIL = "fail"
    TEAR = "tear"
    KILL = "kill"


class KilledError(BaseException):
    """The process is dead: not an Exception, so that no handler of errors sees it."""


class FaultyStorage(Storage):
    """Passes everything to `inner` until the write numbered `at` (from 1). `writes` counts them."""

    def __init__(self, inner: Storage, fault: Fault = Fault.FAIL, at: int | None = None) -> None:
        self.inner = inner
        self.writes = 0
        self._fault = fault
        self._at = at
        self._dead = False
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put, unless this is the write to break."""
        if self._breaks():
            self._tear(name, bytes(data))
        self.inner.put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        """Put a file, unless this is the write to break."""
        if self._breaks():
            self._tear(name, pathlib.Path(path).read_bytes())
        self.inner.put_file(name, path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read, unless dead."""
        self._require_alive()
        return self.inner.get(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size, unless dead."""
        self._require_alive()
        return self.inner.size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List, unless dead."""
        self._require_alive()
        return self.inner.list(prefix)

    def delete(self, name: str) -> None:
        """Remove an object, unless dead. A full medium still lets go of objects."""
        self._require_alive()
        self.inner.delete(name)

    def free_space(self) -> int | None:
        """Return the free bytes."""
        return self.inner.free_space()

    def listing_delay(self) -> float:
        """Return how long others may see older listings."""
        return self.inner.listing_delay()

    def scratch_directory(self) -> str | None:
        """Return the scratch directory, unless dead."""
        self._require_alive()
        return self.inner.scratch_directory()

    def prepare(self) -> None:
        """Prepare, unless dead."""
        self._require_alive()
        self.inner.prepare()

    def _require_alive(self) -> None:
        if self._dead:
            raise KilledError("the process is dead")

    def _breaks(self) -> bool:
        """Count a write. Raise or return True if it is to break."""
        self._require_alive()
        with self._lock:
            self.writes += 1
            reached = self._at is not None and self.writes >= self._at
        if not reached:
            return False
        if self._fault is Fault.FAIL:
            raise StorageFullError("the medium is full", hint="make room on the medium, then run again")
        if self._fault is Fault.KILL:
            self._dead = True
            raise KilledError("the process is dead")
        return True

    def _tear(self, name: str, data: bytes) -> None:
        self.inner.put(name, data[: len(data) // 2], overwrite=True)
        self._dead = True
        raise KilledError("the process is dead")
