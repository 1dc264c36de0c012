"""A fault at every put, list and deletion of a rotation: failed, torn, killed, or its answer lost (3.5, 3.9)."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from repositories.engine.errors import EngineError, RepositoryError
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import Keychain, RotationResult, rotate
from repositories.engine.opening import unlock
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.faults import KilledError
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP, PASSWORD
from tests.engine.keychain.chains import OTHER, RunningClock, bury, copy_of, keychain, opens
from tests.engine.keychain.test_rotation import made, reopened


class Operations(MemoryStorage):
    """Counts every put, list and deletion, and breaks the one with the number `at`: in one of four ways."""

    def __init__(self, inner: MemoryStorage, way: str = "", at: int = 0) -> None:
        super().__init__()
        self.objects = inner.objects
        self.count = 0
        self._way = way
        self._at = at

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        self._operate(lambda: super(Operations, self).put(name, data, overwrite=overwrite), name, bytes(data))

    def delete(self, name: str) -> None:
        self._operate(lambda: super(Operations, self).delete(name))

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self._operate(lambda: None)
        return super().list(prefix)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self._require_alive()
        return super().get(name, offset, length)

    def _require_alive(self) -> None:
        if self._way in ("kill", "tear") and self.count >= self._at:
            raise KilledError("the process is dead")

    def _operate(self, act: Callable[[], None], name: str = "", data: bytes = b"") -> None:
        self._require_alive()
        self.count += 1
        if not self._at or self.count < self._at or (self._way == "lost" and self.count > self._at):
            act()
            return
        if self._way == "tear" and data:
            super().put(name, data[: len(data) // 2], overwrite=True)
        if self._way == "lost":
            act()
        if self._way in ("kill", "tear"):
            raise KilledError("the process is dead")
        raise RepositoryError("the medium does not answer")


def attempt(storage: MemoryStorage, way: str, at: int) -> RotationResult | None:
    """Rotate on a medium that breaks; return the result if it was told."""
    # Opened on the sound medium: what breaks is the rotation.
    keys = keychain(storage)
    broken = Operations(storage, way, at)
    opened = unlock(storage, PASSWORD, system_randomness)
    store = type(opened.store)(broken, opened.store.repository_id, opened.store.keyring, system_randomness)
    fields = (opened.config, opened.config_bytes, opened.slot, opened.generation_key, ())
    result = None
    with contextlib.suppress(EngineError, KilledError):
        result = rotate(Keychain(type(opened)(store, *fields), keys.clock, keys.randomness, CHEAP, keys.pause), [OTHER])
    return result


@pytest.mark.parametrize("way", ["fail", "lost", "tear", "kill"])
def test_a_fault_at_each_operation_of_a_rotation(way: str) -> None:
    """The kept password opens at once, what was committed restores, and backups and rotations go on with no hand."""
    before, _ = made(1)
    counting = copy_of(before)
    operations = Operations(counting)
    opened = unlock(counting, PASSWORD, system_randomness)
    store = type(opened.store)(operations, opened.store.repository_id, opened.store.keyring, system_randomness)
    fields = (opened.config, opened.config_bytes, opened.slot, opened.generation_key, ())
    clock = RunningClock()
    rotate(Keychain(type(opened)(store, *fields), clock, system_randomness, CHEAP, clock.pause), [OTHER])
    outcomes = set()
    for at in range(1, operations.count + 1):
        storage = copy_of(before)
        told = attempt(storage, way, at)
        bury(storage, (OTHER,))
        assert opens(storage, OTHER), at
        done = not opens(storage, PASSWORD)
        assert done or told is None, f"{at}: an ended password opens after it was told to have ended"
        outcomes.add((done, told is not None))
        assert len(require_readable(reopened(storage, OTHER))) == 1
        commit(reopened(storage, OTHER), 2)
        assert len(require_readable(reopened(storage, OTHER))) == 2
        rotate(keychain(storage, OTHER), [OTHER])
        assert len(require_readable(reopened(storage, OTHER))) == 2
        assert not opens(storage, PASSWORD)
    assert (False, False) in outcomes
    assert (True, False) in outcomes or way == "fail"
