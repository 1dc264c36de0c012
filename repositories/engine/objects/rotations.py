"""Whether the keys were rotated since a store was opened, or are being rotated now (docs/repository-format.md, 5).

Owns the look that everyone takes who has put something under a key that a rotation may retire: what is put before a
quiet look counts for ever, since a later rotation lists it. Owns the judgement of rotations that died, too.
"""

import contextlib
import enum
import threading
from collections.abc import Callable, Iterator

from repositories.engine.clock import Clock
from repositories.engine.errors import (
    CommitRefusedError,
    IntegrityError,
    ObjectMissingError,
    RepositoryError,
    UnsupportedFormatError,
)
from repositories.engine.format.collection import LeaseRecord, SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.format.rotations import KeyChangeRecord
from repositories.engine.holder import Holder, is_surely_dead, this_process
from repositories.engine.objects.decided import finish_decided, newest_keyring, read_intents
from repositories.engine.objects.store import ObjectStore

EXPIRY_SECONDS = 300.0
"""A process whose lease's counter stood still for so long, on the observer's clock, is taken for dead."""
PATIENCE_SECONDS = EXPIRY_SECONDS + 60.0
_STEP_SECONDS = 1.0
_UNREADABLE = (ObjectMissingError, IntegrityError, UnsupportedFormatError)

Pause = Callable[[float], None]


def pause_thread(seconds: float) -> None:
    """Let a thread wait."""
    threading.Event().wait(seconds)


class Standing(enum.Enum):
    """What a look at the keys says of the generation that a store was opened with."""

    QUIET = "no rotation has begun that could leave out what was put before this look"
    UNDER_WAY = "one has begun; nobody knows yet whether it will be done"
    DONE = "there is a newer keyring"


class KeyWatch:
    """Looks at announcements, intents and keyrings. Threads look one after the other."""

    def __init__(self, store: ObjectStore, clock: Clock, pause: Pause = pause_thread) -> None:
        self._store = store
        self._clock = clock
        self._pause = pause
        self._seen: dict[bytes, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def look(self) -> Standing:
        """Return how things stand; finishes what is decided. Raises the storage's errors.

        Announcements first, keyrings last: what is gone by the first look has a keyring that the last one sees.
        """
        with self._lock:
            return self._look()

    def _look(self) -> Standing:
        store = self._store
        rotating = [each for _, each in self.changes() if each.purpose == SessionPurpose.ROTATE]
        intents = [each for each in read_intents(store.storage) if each.generation > store.keyring.generation]
        if intents:
            finish_decided(store.storage)
        if newest_keyring(store.storage) > store.keyring.generation:
            return Standing.DONE
        return Standing.UNDER_WAY if rotating or intents else Standing.QUIET

    def require_quiet(self, what: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait until no rotation is under way. Raises CommitRefusedError if one was done: `what` does not count.

        `meanwhile` is called about every second. A rotation whose process died is waited for 5 minutes at most, if at
        all.
        """
        deadline = self._clock.monotonic() + PATIENCE_SECONDS
        while True:
            standing = self.look()
            if standing is Standing.QUIET:
                return
            if standing is Standing.DONE:
                raise CommitRefusedError(
                    f"the keys of the repository were rotated meanwhile: {what}", hint="run it again"
                )
            if self._clock.monotonic() > deadline:
                raise CommitRefusedError(
                    f"a rotation of the keys goes on for minutes or broke off undecided: {what}",
                    hint="let it end, or run syncova-repo key rotate again, then this",
                )
            meanwhile()
            self._pause(_STEP_SECONDS)

    def changes(self, own: bytes = b"") -> Iterator[tuple[bytes, KeyChangeRecord]]:
        """Yield who but `own` changes keys now; the announcements of the dead are removed on the way.

        Removing one of a rotation that lives is safe at any time: it looks at it again before it decides.
        """
        for object_id in self._store.ids(ObjectKind.KEY_CHANGE):
            if object_id == own:
                continue
            try:
                record = decode(self._store.read(ObjectKind.KEY_CHANGE, object_id), KeyChangeRecord)
            except _UNREADABLE:
                # Torn when its process died, and so decides nothing; or gone, as when its rotation has been done.
                continue
            if self._is_over(object_id, record):
                self._remove(object_id)
            else:
                yield object_id, record

    def _is_over(self, object_id: bytes, record: KeyChangeRecord) -> bool:
        holder = Holder(record.boot_id, record.pid_namespace, record.pid, record.process_start, record.host)
        if is_surely_dead(holder, this_process()):
            return True
        try:
            counter = decode(self._store.read(ObjectKind.SESSION, object_id), LeaseRecord).counter
        except ObjectMissingError:
            return True
        except (IntegrityError, UnsupportedFormatError):
            counter = -1
        now = self._clock.monotonic()
        known = self._seen.get(object_id)
        if known is None or known[0] != counter:
            self._seen[object_id] = (counter, now)
            return False
        return now - known[1] >= EXPIRY_SECONDS

    def _remove(self, object_id: bytes) -> None:
        if any(each.keyring_id == object_id for each in read_intents(self._store.storage)):
            finish_decided(self._store.storage)
            return
        with contextlib.suppress(RepositoryError):
            self._store.remove(ObjectKind.KEY_CHANGE, object_id)
