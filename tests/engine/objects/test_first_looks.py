"""Openings whose looks were taken at once (engine.md, 8, remote): few rounds, and never another answer for it."""

from collections.abc import Callable, Iterator

import pytest

from repositories.engine.errors import EngineError, RepositoryNotFoundError, WrongKeyError
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import rotate
from repositories.engine.objects.first_looks import FirstLooks
from repositories.engine.opening import unlock
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import PASSWORD, make_repository


class FarStorage(MemoryStorage):
    """A medium where several reads are made at once; `looked` is told of each listing and read before it is made."""

    def __init__(self, looked: Callable[[str], None] = lambda name: None) -> None:
        super().__init__()
        self.looked = looked

    @property
    def reads_at_once(self) -> int:
        return 8

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self.looked(prefix)
        return super().list(prefix)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        self.looked(name)
        return super().get(name, offset, length)


def far_repository() -> FarStorage:
    storage = FarStorage()
    make_repository(storage)
    return storage


def generation_of(storage: FarStorage, secret: bytes = PASSWORD) -> int:
    return unlock(storage, secret, system_randomness).store.keyring.generation


def test_nothing_is_looked_at_twice_and_the_store_reads_the_medium_itself() -> None:
    storage = far_repository()
    looks: list[str] = []
    storage.looked = looks.append
    opened = unlock(storage, PASSWORD, system_randomness)
    assert len(looks) == len(set(looks))
    assert opened.store.storage is storage


def test_a_rotation_in_the_middle_of_the_looks_is_not_fallen_into() -> None:
    """The keyring of the new generation is seen, its slots are not: the looks are taken again, in order."""
    storage = far_repository()
    rotated = False

    def looked(name: str) -> None:
        nonlocal rotated
        if name == "keyrings/" and not rotated:
            rotated = True
            rotate(keychain(storage), [PASSWORD])

    storage.looked = looked
    assert generation_of(storage) == 2
    assert generation_of(storage) == 2


def test_a_decided_rotation_is_finished_first() -> None:
    storage = far_repository()
    before = dict(storage.objects)
    rotate(keychain(storage), [PASSWORD])
    storage.objects.update(before)
    storage.objects["intents/00000003/" + "0" * 32] = b"torn"
    assert not FirstLooks(storage).are_taken()
    assert generation_of(storage) == 2


def test_a_lost_first_copy_is_made_up_for_by_the_second() -> None:
    storage = far_repository()
    for name in [each for each in storage.objects if each.startswith(("config/", "slots/", "keyrings/"))]:
        storage.objects[name] = b"damaged"
    assert generation_of(storage) == 1


@pytest.mark.parametrize(("secret", "error"), [(b"wrong", WrongKeyError), (PASSWORD, RepositoryNotFoundError)])
def test_refusals_are_those_of_a_medium_near_by(secret: bytes, error: type[EngineError]) -> None:
    near = MemoryStorage()
    make_repository(near)
    far = far_repository()
    if error is RepositoryNotFoundError:
        near.objects.clear()
        far.objects.clear()
    told = []
    for storage in (near, far):
        with pytest.raises(error) as raised:
            unlock(storage, secret, system_randomness)
        told.append((raised.value.message, raised.value.hint))
    assert told[0] == told[1]
