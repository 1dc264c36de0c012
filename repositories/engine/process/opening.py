"""Opens the repository that a request or a command names. Owns nothing else: one place, one meaning of a location.

Turning a password into a key takes a tenth of a second of one processor without the interpreter's lock, so that it
can go on while the operation's code is imported: `begin`, then `open_for`.
"""

import os
import threading
import time

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import InventoryLostError
from repositories.engine.ids import system_randomness
from repositories.engine.opening import unlock
from repositories.engine.process.requests import RepositoryAccess
from repositories.engine.process.seen_states import SeenStates, ToldState, watch
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.credentials import Credentials
from repositories.engine.storage.locations import open_storage
from repositories.engine.storage.outages import Tell
from repositories.engine.throttle import Throttle


class _Opening:
    """One opening on a thread of its own."""

    def __init__(self, access: RepositoryAccess) -> None:
        self.access = access
        self._outcome: Repository | BaseException
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> Repository:
        """Wait for the end; return the repository or raise what opening it raised."""
        self._thread.join()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = _open(self.access)
        except BaseException as error:  # noqa: BLE001  (raised again by whoever asks for the result)
            self._outcome = error


class _Listener:
    """Who is told that a medium does not answer: nobody, until somebody says so."""

    tell: Tell | None = None


_begun: list[_Opening] = []
_listener = _Listener()
_watched: list[tuple[SeenStates | ToldState, bool]] = []


def tell_waits(tell: Tell) -> None:
    """Let `tell` take a line when a medium that is opened from now on does not answer and is tried again."""
    _listener.tell = tell


def begin(access: RepositoryAccess) -> None:
    """Start to open the repository, unless that is begun; the next `open_for` with this access takes it.

    Failures wait there too.
    """
    if not (_begun and _begun[-1].access == access):
        _begun.append(_Opening(access))


def open_for(access: RepositoryAccess) -> Repository:
    """Open the repository; raises RepositoryNotFoundError, WrongKeyError and the storage's errors."""
    if _begun and _begun[-1].access == access:
        return _begun.pop().result()
    return _open(access)


def open_what_is_left(access: RepositoryAccess, lost: InventoryLostError) -> Repository:
    """Open a repository whose newest inventory is `lost`: what the newest keys have sealed counts, and nothing older.

    It is read only. Raises as `open_for` does.
    """
    opened = unlock(storage_of(access), access.password.encode(), system_randomness, without_inventory=True)
    repository = Repository(opened.store, opened.config, SYSTEM_CLOCK, opened.unknown_write_features)
    repository.refuse_writing = lost
    return repository


def warn_of_what_is_left(repository: Repository, lost: InventoryLostError) -> None:
    """Say what is left out of a repository that `open_what_is_left` has opened, and what helps."""
    repository.warn(
        f"{lost.message}; what is older is left out, and nothing is written. "
        "Bring it back from a copy of the repository: nothing else tells what is older from a forgery"
    )


def watch_states(
    access: RepositoryAccess, repository: Repository, *, writes: bool = False
) -> SeenStates | ToldState | None:
    """Compare the repository with what was seen of it, if `access` names a memory; return that.

    An earlier state is warned of, but not where the caller `writes`: it is refused for that, in the same words. Nothing
    is compared, or remembered, where the inventory is lost.
    """
    if repository.refuse_writing is not None:
        return None
    warn = repository.warn
    if writes:
        repository.warn = _nobody
    states = watch(access, repository)
    repository.warn = warn
    if states is not None:
        _watched.append((states, writes))
    return states


def note_states() -> None:
    """Remember the states of the repositories that this process has written to, at the end of what it did.

    Those that it only read are remembered since they were looked at.
    """
    for states, writes in _watched:
        if writes:
            states.note()


def told_state() -> ToldState | None:
    """Return what the caller has to remember of the repository that its request names, if it keeps that."""
    return next((states for states, _ in _watched if isinstance(states, ToldState)), None)


def storage_of(access: RepositoryAccess) -> Storage:
    """Return the medium that `access` names, with credentials and write limit. Raises as `open_storage` does."""
    rate = access.write_bytes_per_second
    pace = None if rate is None else Throttle(rate, monotonic=SYSTEM_CLOCK.monotonic, sleep=time.sleep).take
    return open_storage(access.location, Credentials(access.credentials), pace, _listener.tell)


def _nobody(_: str) -> None:
    pass


def _open(access: RepositoryAccess) -> Repository:
    repository = open_repository(storage_of(access), access.password.encode())
    if access.kept_directory is not None:
        repository.keep_in(os.fsdecode(access.kept_directory))
    return repository
