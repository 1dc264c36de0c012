"""Counts what a restore deletes, or would. Owns the figures and the bounded lists; safe in several threads."""

import threading
from collections import Counter

from repositories.engine.restore.request import DeletionResult

LISTED = 100


class Ledger:
    """All methods may be called from any thread."""

    def __init__(self, scope: list[bytes]) -> None:
        self._scope = scope
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._deleted: list[tuple[bytes, int]] = []
        self._spared: list[tuple[bytes, str]] = []
        self._failed: list[tuple[bytes, str]] = []
        self.refused = ""

    def deleted(self, path: bytes, objects: int, size: int) -> None:
        """The object at `path` is gone, `objects` with all that lay in it."""
        with self._lock:
            self._counts["deleted"] += objects
            self._counts["bytes"] += size
            if objects and len(self._deleted) < LISTED:
                self._deleted.append((path, objects))

    def spared(self, path: bytes, reason: str) -> None:
        """An object stays, although the backup does not hold it."""
        with self._lock:
            self._counts["spared"] += 1
            if len(self._spared) < LISTED:
                self._spared.append((path, reason))

    def failed(self, path: bytes, error: OSError) -> None:
        """An object could not be deleted."""
        with self._lock:
            self._counts["failed"] += 1
            if len(self._failed) < LISTED:
                self._failed.append((path, error.strerror or str(error)))

    def result(self) -> DeletionResult:
        """Return the figures."""
        counts = self._counts
        return DeletionResult(
            self._scope, counts["deleted"], counts["bytes"], counts["spared"], counts["failed"],
            sorted(self._deleted), sorted(self._spared), sorted(self._failed), self.refused,
        )  # fmt: skip
