"""Keychains for tests: cheap Argon2id, nothing waits in earnest, processes that died."""

import msgspec

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.errors import IntegrityError, WrongKeyError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.format.rotations import KeyChangeRecord
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import Keychain
from repositories.engine.objects.store import ObjectStore
from repositories.engine.opening import unlock
from repositories.engine.repository import open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.memory import MemoryStorage
from tests import canaries
from tests.engine.fakes import CHEAP
from tests.engine.repositories import PASSWORD

DEAD_PROCESS_START = 1
OTHER = canaries.repository_password("other").encode()


class RunningClock:
    """Monotonic seconds that pass only in pauses."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ns(self) -> int:
        return SYSTEM_CLOCK.now_ns()

    def monotonic(self) -> float:
        return self.seconds

    def pause(self, seconds: float) -> None:
        self.seconds += seconds


def keychain(storage: Storage, secret: bytes = PASSWORD, clock: RunningClock | None = None) -> Keychain:
    """Open a keychain whose pauses take no time."""
    clock = clock or RunningClock()
    opened = unlock(storage, secret, system_randomness)
    return Keychain(opened, clock, system_randomness, CHEAP, clock.pause)


def opens(storage: Storage, secret: bytes) -> bool:
    """Tell whether a password or recovery code opens the repository."""
    try:
        open_repository(storage, secret)
    except WrongKeyError:
        return False
    return True


def copy_of(storage: MemoryStorage) -> MemoryStorage:
    """Return a copy of a medium."""
    copied = MemoryStorage()
    copied.objects.update(storage.objects)
    return copied


def bury(storage: Storage, secrets: tuple[bytes, ...]) -> None:
    """Let every process that changes keys now be one of this machine that is gone: as after a kill, seen from outside.

    In one process the dead of a test would be taken for alive.
    """
    for secret in secrets:
        if opens(storage, secret):
            store = unlock(storage, secret, system_randomness).store
            for object_id in store.ids(ObjectKind.KEY_CHANGE):
                _bury_one(store, object_id)
            return


def _bury_one(store: ObjectStore, object_id: bytes) -> None:
    try:
        record = decode(store.read(ObjectKind.KEY_CHANGE, object_id), KeyChangeRecord)
    except IntegrityError:
        return
    dead = msgspec.structs.replace(record, process_start=DEAD_PROCESS_START)
    store.remove(ObjectKind.KEY_CHANGE, object_id)
    store.put(ObjectKind.KEY_CHANGE, encode(dead), object_id)
