"""A medium that stands still at one operation while a test does something on it with hands of its own."""

import threading
from collections.abc import Callable, Iterator

from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.faults import FaultyStorage
from repositories.engine.storage.memory import MemoryStorage


class Pausing(FaultyStorage):
    """Counts operations; directly before the one numbered `at` it calls `then`, and everybody else waits.

    Those that are counted begin with `which`, as `put manifests/`.
    """

    def __init__(
        self, inner: MemoryStorage, at: int | None = None, then: Callable[[], None] = lambda: None, which: str = ""
    ) -> None:
        super().__init__(inner)
        self._which = which
        self.operations = 0
        self.at_which = ""
        self._pauses_at = at
        self._then = then
        self._counting = threading.Lock()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        self._come_to(f"put {name}")
        super().put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        self._come_to(f"put {name}")
        super().put_file(name, path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self._come_to(f"get {name}")
        return super().get(name, offset, length)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self._come_to(f"list {prefix}")
        return super().list(prefix)

    def delete(self, name: str) -> None:
        self._come_to(f"delete {name}")
        super().delete(name)

    def _come_to(self, what: str) -> None:
        with self._counting:
            self.operations += what.startswith(self._which)
            if self.operations == self._pauses_at and not self.at_which:
                self.at_which = what
                self._then()
