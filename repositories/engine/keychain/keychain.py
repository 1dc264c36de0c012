"""A repository opened so that its keys can be changed, and the exclusion of everyone else who changes them.

Owns the announcement (`keychanges/<id>`) and its lease. Whoever announces looks for others afterwards: of two at most
one goes on. Writers look for announcements of rotations after they have put their manifest.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.errors import KeysChangedError, RepositoryError, RepositoryLockedError, UnsupportedFormatError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.rotations import KeyChangeRecord
from repositories.engine.holder import this_process
from repositories.engine.ids import Randomness, system_randomness
from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.objects.decided import is_announced, newest_keyring
from repositories.engine.objects.rotations import PATIENCE_SECONDS, KeyWatch, Pause, pause_thread
from repositories.engine.objects.store import ObjectStore
from repositories.engine.opening import OpenedRepository, unlock
from repositories.engine.sessions.leases import Lease
from repositories.engine.storage.base import Storage

_LEAST_PAUSE = 0.2


def _silent(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Keychain:
    """What changes of keys work with. `tell` gets what takes long; `patience` is in seconds."""

    opened: OpenedRepository
    clock: Clock = SYSTEM_CLOCK
    randomness: Randomness = system_randomness
    kdf: KdfParameters = field(default_factory=KdfParameters)
    pause: Pause = pause_thread
    patience: float = PATIENCE_SECONDS
    tell: Callable[[str], None] = _silent

    @property
    def store(self) -> ObjectStore:
        """Return the store."""
        return self.opened.store

    @property
    def storage(self) -> Storage:
        """Return the medium."""
        return self.opened.store.storage

    @property
    def generation(self) -> int:
        """Return the generation that was opened."""
        return self.opened.store.keyring.generation

    def require_newest(self) -> None:
        """Raise KeysChangedError if there is a newer keyring than the one that was opened."""
        if newest_keyring(self.storage) > self.generation:
            raise KeysChangedError("the keys were rotated meanwhile; nothing was changed", hint="run it again")


def open_keychain(
    storage: Storage,
    secret: bytes,
    *,
    clock: Clock = SYSTEM_CLOCK,
    randomness: Randomness = system_randomness,
    without_inventory: bool = False,
) -> Keychain:
    """Open a repository with a password or recovery code, for changes of its keys. Raises what `unlock` raises.

    Raises UnsupportedFormatError for a repository that this program must not write to. `without_inventory` is for who
    only looks.
    """
    opened = unlock(storage, secret, randomness, without_inventory=without_inventory)
    if opened.unknown_write_features:
        raise UnsupportedFormatError(
            f"the repository uses {', '.join(opened.unknown_write_features)}, not known here: it can only be read",
            hint="use a newer Syncova to change its keys",
        )
    return Keychain(opened, clock, randomness)


class Announcement:
    """This process's announcement, with its lease; both are there when this returns. Raises the storage's error."""

    def __init__(self, keys: Keychain, purpose: SessionPurpose) -> None:
        self._keys = keys
        self._left = False
        self._failure: BaseException | None = None
        self._lease = Lease(keys.store, purpose, keys.clock.now_ns())
        self.id = self._lease.session_id
        holder = this_process()
        record = KeyChangeRecord(
            purpose=purpose,
            generation=keys.generation,
            boot_id=holder.boot_id,
            pid_namespace=holder.pid_namespace,
            pid=holder.pid,
            process_start=holder.process_start,
            host=holder.host,
            started_ns=keys.clock.now_ns(),
        )
        try:
            keys.store.put(ObjectKind.KEY_CHANGE, encode(record), self.id)
        except BaseException:
            self._lease.end()
            raise

    def is_there(self) -> bool:
        """Tell whether nobody has taken this process for dead."""
        return is_announced(self._keys.storage, self.id)

    def leave(self, *, left: bool = True, failure: BaseException | None = None) -> None:
        """Let the announcement stay when this process ends, or not: with an intent it lets others finish.

        With the `failure` of a medium that did not answer the lease stays, too: an intent may be on its way.
        """
        self._left = left
        self._failure = failure

    def end(self) -> None:
        """Remove announcement and lease; a medium that refuses is left alone."""
        try:
            if not self._left:
                with contextlib.suppress(RepositoryError):
                    self._keys.store.remove(ObjectKind.KEY_CHANGE, self.id)
        finally:
            self._lease.end(self._failure)


@contextlib.contextmanager
def changing_keys(keys: Keychain, purpose: SessionPurpose) -> Iterator[Announcement]:
    """Change keys alone: waits for others, those that died included, up to the patience.

    Raises RepositoryLockedError when another goes on for longer, KeysChangedError when the keys were rotated.
    """
    announcement = _announce_alone(keys, purpose)
    try:
        keys.require_newest()
        yield announcement
    finally:
        announcement.end()


def _announce_alone(keys: Keychain, purpose: SessionPurpose) -> Announcement:
    watch = KeyWatch(keys.store, keys.clock)
    deadline = keys.clock.monotonic() + keys.patience
    told = False
    while True:
        announcement = Announcement(keys, purpose)
        try:
            others = [record for _, record in watch.changes(announcement.id)]
        except BaseException:
            announcement.end()
            raise
        if not others:
            return announcement
        # Both withdraw when two began at once; the random pause parts them.
        announcement.end()
        who = f"process {others[0].pid} on {others[0].host}"
        if keys.clock.monotonic() >= deadline:
            raise RepositoryLockedError(
                f"{who} is changing the keys of this repository; nothing was changed", hint="try again later"
            )
        if not told:
            keys.tell(f"waiting for {who}, which is changing keys")
            told = True
        keys.pause(_LEAST_PAUSE + keys.randomness(1)[0] / 256)
