"""The read session: a lease that keeps packs from being taken away under a restore or check.

Owns the lease, and the index that readers look into. A medium that cannot be written to is read without a lease: nobody
can prune it either.
"""

from repositories.engine.clock import Clock
from repositories.engine.errors import (
    IntegrityError,
    StorageFullError,
    StorageReadOnlyError,
    UnsupportedFormatError,
)
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.index.catalogue import Catalogue
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.leases import Lease
from repositories.engine.sessions.views import accepted_by_newest_sweep, read_damage, read_marks


class ReadSession:
    """A reader's session; use it as a context manager or close it."""

    def __init__(self, store: ObjectStore, clock: Clock) -> None:
        """Put the lease, then look at the marks. A full or read-only medium is read without a lease."""
        self._lease: Lease | None = None
        try:
            self._lease = Lease(store, SessionPurpose.READ, clock.now_ns())
        except (StorageReadOnlyError, StorageFullError):
            self.fence = 0
            return
        try:
            self.fence = read_marks(store).highest
        except (IntegrityError, UnsupportedFormatError):
            # A damaged mark must not keep anybody from reading: with the fence 0 every prune waits for this session.
            self.fence = 0
        self._lease.hold_fence(self.fence)

    def __enter__(self) -> "ReadSession":
        """Return the session; leaving the block closes it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the session."""
        self.close()

    def close(self) -> None:
        """End the lease. Safe to call twice."""
        if self._lease is not None:
            self._lease.end()


def read_index(store: ObjectStore, catalogue: Catalogue) -> ChunkIndex:
    """Return a look-up structure over what live segments name now, with the damage that is known."""
    accepts = accepted_by_newest_sweep(store)
    known, damage = store.both(lambda: catalogue.live_index(accepts), lambda: read_damage(store))
    return known.index(frozenset(), damage)
