"""Leases: the object that says a session lives, renewed by a counter.

Owns putting, renewing and removing this process's own leases. A lease protects nothing by itself: the fence does. It
only tells a prune whom to wait for.
"""

import contextlib
import threading

from repositories.engine.errors import EngineError, RepositoryError
from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.objects.answers import may_be_done
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.holder import this_process

RENEW_SECONDS = 60.0


class Lease:
    """One lease on the medium, renewed by a thread of its own until it ends."""

    def __init__(self, store: ObjectStore, purpose: SessionPurpose, now_ns: int) -> None:
        """Put the lease; it is visible when this returns. Raises the storage's error."""
        self.session_id = store.new_id()
        self._store = store
        self._purpose = purpose
        self._started_ns = now_ns
        self._holder = this_process()
        self._counter = 0
        self._fence = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._put(first=True)
        self._thread = threading.Thread(target=self._renew_until_ended, name="syncova-lease", daemon=True)
        self._thread.start()

    def hold_fence(self, fence: int, *, tell: bool = False) -> None:
        """Remember the fence. The next renewal tells it, or with `tell` this call.

        So it is told where nothing else may: of a mark that no sweep has followed yet, and that the medium may lose.
        """
        self._fence = fence
        if tell:
            with contextlib.suppress(RepositoryError):
                self.renew()

    def end(self, failure: BaseException | None = None) -> None:
        """Stop renewing and remove the lease. A medium that refuses is left alone: the lease expires by itself.

        So it does after a `failure` behind which something may still be under way: a request that was not answered may
        be carried out yet, and the lease explains what it leaves then.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        if may_be_done(failure):
            return
        with self._lock, contextlib.suppress(RepositoryError):
            self._store.remove(ObjectKind.SESSION, self.session_id)

    def renew(self) -> None:
        """Put the lease with the next counter. Raises the storage's error."""
        with self._lock:
            if not self._ended.is_set():
                self._counter += 1
                self._put(first=False)

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(RENEW_SECONDS):
            # A renewal that fails is tried again next minute; commits are safe without it.
            with contextlib.suppress(EngineError):
                self.renew()

    def _put(self, *, first: bool) -> None:
        holder = self._holder
        record = LeaseRecord(
            session_id=self.session_id,
            purpose=self._purpose,
            counter=self._counter,
            fence=self._fence,
            boot_id=holder.boot_id,
            pid_namespace=holder.pid_namespace,
            pid=holder.pid,
            process_start=holder.process_start,
            host=holder.host,
            started_ns=self._started_ns,
        )
        if first:
            self._begin(encode(record))
        else:
            self._store.replace(ObjectKind.SESSION, encode(record), self.session_id)

    def _begin(self, record: bytes) -> None:
        try:
            self._store.put(ObjectKind.SESSION, record, self.session_id)
        except RepositoryError:
            # If only the answer was lost a prune would wait for as long as this process lives.
            with contextlib.suppress(RepositoryError):
                self._store.remove(ObjectKind.SESSION, self.session_id)
            raise
