"""Storage in memory, for tests: the same contract as the others, and nothing outlives the process."""

import pathlib
import threading
from collections.abc import Iterator

from repositories.engine.errors import ObjectExistsError, ObjectMissingError
from repositories.engine.fresh_files import remove_file
from repositories.engine.storage.base import Storage, StoredObject, validate_name, validate_prefix


class MemoryStorage(Storage):
    """A dictionary of objects. `objects` is open to tests that damage bytes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Accept: creation itself looks for a repository."""

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store a copy of `data`."""
        validate_name(name)
        with self._lock:
            if name in self.objects and not overwrite:
                raise ObjectExistsError(f"{name} is there already", hint="run check")
            self.objects[name] = bytes(data)

    def put_file(self, name: str, path: str) -> None:
        """Store the content of `path` and remove it."""
        self.put(name, pathlib.Path(path).read_bytes())
        remove_file(path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a part of an object."""
        data = self._find(name)
        return data[offset:] if length is None else data[offset : offset + length]

    def size(self, name: str) -> int:
        """Return the object's size."""
        return len(self._find(name))

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects below `prefix`."""
        validate_prefix(prefix)
        with self._lock:
            found = [StoredObject(name, len(data)) for name, data in self.objects.items() if name.startswith(prefix)]
        yield from found

    def delete(self, name: str) -> None:
        """Remove an object."""
        self._find(name)
        with self._lock:
            self.objects.pop(name, None)

    def _find(self, name: str) -> bytes:
        validate_name(name)
        with self._lock:
            data = self.objects.get(name)
        if data is None:
            raise ObjectMissingError(f"{name} is not in the repository", hint="run check")
        return data
