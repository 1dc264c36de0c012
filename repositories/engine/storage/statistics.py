"""A storage wrapper that counts: how many objects and bytes went which way.

Owns the counters only.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from repositories.engine.storage.base import Storage, StoredObject


@dataclass(slots=True)
class StorageCounts:
    """What passed through a storage so far: objects and bytes written, reads and bytes read, lists, deletions."""

    objects_written: int = 0
    bytes_written: int = 0
    reads: int = 0
    bytes_read: int = 0
    lists: int = 0
    deletions: int = 0


class StatisticsStorage(Storage):
    """Passes everything to `inner`; counts only what succeeded."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.counts = StorageCounts()
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put and count."""
        self.inner.put(name, data, overwrite=overwrite)
        self._count_written(len(data))

    def put_file(self, name: str, path: str) -> None:
        """Put a file and count."""
        length = os.path.getsize(path)
        self.inner.put_file(name, path)
        self._count_written(length)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read and count."""
        data = self.inner.get(name, offset, length)
        with self._lock:
            self.counts.reads += 1
            self.counts.bytes_read += len(data)
        return data

    def size(self, name: str) -> int:
        """Return the size."""
        return self.inner.size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List and count."""
        with self._lock:
            self.counts.lists += 1
        return self.inner.list(prefix)

    def delete(self, name: str) -> None:
        """Remove and count."""
        self.inner.delete(name)
        with self._lock:
            self.counts.deletions += 1

    def move(self, name: str, target: str) -> None:
        """Give an object another name: nothing is written or removed that counts."""
        self.inner.move(name, target)

    def free_space(self) -> int | None:
        """Return the free bytes."""
        return self.inner.free_space()

    def listing_delay(self) -> float:
        """Return how long others may see older listings."""
        return self.inner.listing_delay()

    def scratch_directory(self) -> str | None:
        """Return the scratch directory."""
        return self.inner.scratch_directory()

    def prepare(self) -> None:
        """Prepare the medium."""
        self.inner.prepare()

    def _count_written(self, length: int) -> None:
        with self._lock:
            self.counts.objects_written += 1
            self.counts.bytes_written += length
