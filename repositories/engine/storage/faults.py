"""A storage wrapper that breaks at the n-th operation: for tests of everything that must survive it.

Owns the ways to break and the counting of operations. A process that died stays dead: every later call raises, so that
no clean-up code can help. Knows nothing of what objects hold.
"""

import contextlib
import enum
import pathlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from repositories.engine.errors import RepositoryError, StorageFullError
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.delegating import DelegatingStorage

_T = TypeVar("_T")


class Operation(enum.Flag):
    """What is asked of a medium. A get of a part is told from that of a whole object."""

    PUT = enum.auto()
    PUT_FILE = enum.auto()
    GET = enum.auto()
    GET_PART = enum.auto()
    SIZE = enum.auto()
    LIST = enum.auto()
    DELETE = enum.auto()


WRITES: Final = Operation.PUT | Operation.PUT_FILE
CHANGES: Final = WRITES | Operation.DELETE
EVERY: Final = ~Operation(0)


class Fault(enum.Enum):
    """FULL: this write and all later ones raise StorageFullError. FAIL: nothing is done, the medium does not answer
    this once. GONE: it does not answer from here on.

    TEAR: half of a write becomes visible, or a deletion is done, then the process is dead; a get returns half of what
    it should as if that were all, a listing breaks off with an error in the middle.

    DELAY: the caller is told that the medium does not answer, and goes on; what it wanted to change is changed when
    `Breakage.arrive` is called. SLEEP: the whole process stands still before the operation, until `meanwhile` has come
    to its end. LOSE_ANSWER: all is done, and the medium does not answer. KILL: the process is dead before the
    operation.
    """

    FULL = "full"
    FAIL = "fail"
    GONE = "gone"
    TEAR = "tear"
    DELAY = "delay"
    SLEEP = "sleep"
    LOSE_ANSWER = "lose-answer"
    KILL = "kill"


_LASTING = frozenset({Fault.FULL, Fault.GONE})


class KilledError(BaseException):
    """The process is dead: not an Exception, so that no handler of errors sees it."""


class Breakage:
    """What happens to one process at its operation numbered `at` (from 1) of those `among` that it asks of its media.

    `counts` has all operations by kind, `broken` the one that broke. Thread safe.
    """

    def __init__(
        self,
        fault: Fault = Fault.FULL,
        at: int | None = None,
        among: Operation = EVERY,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self.fault = fault
        self.counts: Counter[Operation] = Counter()
        self.broken = ""
        self.dead = False
        self._at = at
        self._among = among
        self._meanwhile = meanwhile
        self._counted = 0
        self._lasts = False
        self._held: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._awake.set()

    @property
    def operations(self) -> int:
        """Return how many of those that are counted were asked for so far."""
        return self._counted

    def mend(self) -> None:
        """Let everything succeed from now on; the dead stay dead."""
        self._at, self._lasts = None, False

    def arrive(self) -> None:
        """Do now what was delayed. What cannot be done any more is left alone, as the medium would leave it."""
        held, self._held = self._held, []
        for act in held:
            with contextlib.suppress(RepositoryError):
                act()

    def require_alive(self) -> None:
        """Raise KilledError if the process is dead; wait while it sleeps."""
        self._awake.wait()
        if self.dead:
            raise KilledError("the process is dead")

    def run(self, operation: Operation, name: str, act: Callable[[], _T], tear: Callable[[], _T]) -> _T:
        """Return what `act` returns, unless this is the operation to break; `tear` does half of it."""
        self.require_alive()
        if not self._is_reached(operation):
            return act()
        self.broken = self.broken or f"{operation.name} {name}"
        if self.fault is Fault.SLEEP:
            return self._sleep(act)
        if self.fault is Fault.TEAR:
            return self._tear(operation, tear)
        if self.fault is Fault.KILL:
            self._die()
        if self.fault is Fault.LOSE_ANSWER:
            act()
        if self.fault is Fault.DELAY and operation in CHANGES:
            self._held.append(act)
        if self.fault is Fault.FULL:
            raise StorageFullError("the medium is full", hint="make room on the medium, then run again")
        raise RepositoryError("the medium does not answer", hint="check the medium, then run again")

    def _is_reached(self, operation: Operation) -> bool:
        with self._lock:
            self.counts[operation] += 1
            counts = operation in self._among
            self._counted += counts
            first = counts and self._counted == self._at
            self._lasts = self._lasts or (first and self.fault in _LASTING)
            return (first or self._lasts) and (self.fault is not Fault.FULL or operation in WRITES)

    def _sleep(self, act: Callable[[], _T]) -> _T:
        self._awake.clear()
        try:
            if self._meanwhile is not None:
                self._meanwhile()
        finally:
            self._awake.set()
        return act()

    def _tear(self, operation: Operation, tear: Callable[[], _T]) -> _T:
        done = tear()
        if operation in CHANGES:
            self._die()
        return done

    def _die(self) -> None:
        self.dead = True
        raise KilledError("the process is dead")


class FaultyStorage(DelegatingStorage):
    """Passes everything to `inner` until something breaks: the write numbered `at`, or what `breakage` says.

    The media of one process share its breakage: they are counted together, and die together.
    """

    def __init__(
        self, inner: Storage, fault: Fault = Fault.FULL, at: int | None = None, *, breakage: Breakage | None = None
    ) -> None:
        super().__init__(inner)
        self.breakage = breakage or Breakage(fault, at, WRITES)

    @property
    def writes(self) -> int:
        """Return how many writes were asked for so far."""
        return self.breakage.counts[Operation.PUT] + self.breakage.counts[Operation.PUT_FILE]

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put, unless this is what breaks."""
        content = bytes(data)
        self.breakage.run(
            Operation.PUT,
            name,
            lambda: self.inner.put(name, content, overwrite=overwrite),
            lambda: self._put_half(name, content),
        )

    def put_file(self, name: str, path: str) -> None:
        """Put a file, unless this is what breaks."""
        act: Callable[[], None] = lambda: self.inner.put_file(name, path)  # noqa: E731
        if self.breakage.fault is Fault.DELAY:
            # The caller removes a file that was not taken.
            content = pathlib.Path(path).read_bytes()
            act = lambda: self.inner.put(name, content)  # noqa: E731
        self.breakage.run(Operation.PUT_FILE, name, act, lambda: self._put_half(name, pathlib.Path(path).read_bytes()))

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read, unless this is what breaks."""

        def tear() -> bytes:
            data = self.inner.get(name, offset, length)
            return data[: len(data) // 2]

        operation = Operation.GET if length is None and not offset else Operation.GET_PART
        return self.breakage.run(operation, name, lambda: self.inner.get(name, offset, length), tear)

    def size(self, name: str) -> int:
        """Return the size, unless this is what breaks."""

        def tear() -> int:
            raise RepositoryError("the medium does not answer", hint="check the medium, then run again")

        return self.breakage.run(Operation.SIZE, name, lambda: self.inner.size(name), tear)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List, unless this is what breaks."""
        return self.breakage.run(
            Operation.LIST, prefix, lambda: self._listing(prefix), lambda: self._half_a_listing(prefix)
        )

    def delete(self, name: str) -> None:
        """Remove an object, unless this is what breaks. A full medium lets go of objects."""
        self.breakage.run(Operation.DELETE, name, lambda: self.inner.delete(name), lambda: self.inner.delete(name))

    def scratch_directory(self) -> str | None:
        """Return the scratch directory, unless dead."""
        self.breakage.require_alive()
        return self.inner.scratch_directory()

    def prepare(self) -> None:
        """Prepare, unless dead."""
        self.breakage.require_alive()
        self.inner.prepare()

    def _put_half(self, name: str, content: bytes) -> None:
        self.inner.put(name, content[: len(content) // 2], overwrite=True)

    def _listing(self, prefix: str) -> Iterator[StoredObject]:
        for each in self.inner.list(prefix):
            self.breakage.require_alive()
            yield each

    def _half_a_listing(self, prefix: str) -> Iterator[StoredObject]:
        found = [*self.inner.list(prefix)]
        yield from found[: len(found) // 2]
        raise RepositoryError("the medium does not answer", hint="check the medium, then run again")
