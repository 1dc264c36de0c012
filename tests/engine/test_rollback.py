"""Each true earlier state is known: older copies, and what is withheld or put back (3.14, engine.md 5)."""

from collections.abc import Callable

import pytest

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.keychain import add_password, remove_key, rotate
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import open_repository
from repositories.engine.sessions.taking_back import take_back
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit
from tests.engine.histories import Observer, mark, sweep
from tests.engine.keychain.chains import OTHER, keychain
from tests.engine.repair.hurting import flip
from tests.engine.repositories import PASSWORD, make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    commit(make_repository(storage), 1)
    commit(open_repository(storage, PASSWORD), 2)
    return storage


def without(storage: MemoryStorage, *ids: bytes) -> None:
    """Withhold objects in all their copies."""
    for name in [name for name in storage.objects if any(name.endswith(each.hex()) for each in ids)]:
        del storage.objects[name]


def test_an_older_copy_is_one(storage: MemoryStorage) -> None:
    observer, older = Observer(), dict(storage.objects)
    commit(open_repository(storage, PASSWORD), 3)
    assert observer.look(storage) == ""
    storage.objects = older
    assert "neither there nor deleted" in observer.look(storage)


def test_a_single_manifest_withheld_is_one(storage: MemoryStorage) -> None:
    observer = Observer()
    observer.look(storage)
    newest = open_repository(storage, PASSWORD).backups()[-1].object_id
    without(storage, bytes.fromhex(newest))
    assert newest in observer.look(storage)


@pytest.mark.parametrize(("put", "told"), [(mark, "newest mark of a prune"), (sweep, "last prune")])
def test_a_mark_or_sweep_withheld_is_one(
    storage: MemoryStorage, put: Callable[[ObjectStore, int], bytes], told: str
) -> None:
    observer = Observer()
    object_id = put(open_repository(storage, PASSWORD).store, 4)
    assert observer.look(storage) == ""
    without(storage, object_id)
    assert told in observer.look(storage)


def test_a_damaged_mark_is_none(storage: MemoryStorage) -> None:
    """Whoever writes is told of it; how far the marks went is not forgotten for it."""
    observer = Observer()
    object_id = mark(open_repository(storage, PASSWORD).store, 4)
    observer.look(storage)
    flip(storage, f"marks/{object_id.hex()}", -1)
    assert observer.look(storage) == ""
    assert observer.remembered.fence == 4


def test_older_keys_that_open_again_are_one(storage: MemoryStorage) -> None:
    """The password was kept, so that it opens both: the older slots and keyring put back, the newer withheld."""
    observer, older = Observer(), dict(storage.objects)
    rotate(keychain(storage), [PASSWORD])
    assert observer.look(storage) == ""
    for name in [name for name in storage.objects if "/00000002/" in name]:
        del storage.objects[name]
    storage.objects.update({name: data for name, data in older.items() if "slots/" in name})
    assert "keys are of generation 1" in observer.look(storage)


def test_a_removed_key_put_back_is_one(storage: MemoryStorage) -> None:
    observer, before = Observer(), set(storage.objects)
    add_password(keychain(storage), OTHER, "leaked")
    slot = {name: data for name, data in storage.objects.items() if name not in before}
    observer.look(storage)
    remove_key(keychain(storage), "leaked")
    assert observer.look(storage) == ""
    storage.objects.update(slot)
    assert "is there again" in observer.look(storage)


def test_what_a_retired_key_says_of_an_inventoried_backup_does_not_count(storage: MemoryStorage) -> None:
    """Who holds an ended key and the medium removes a backup and puts a tombstone for it: it is missed all the same.

    A writer that slept through a rotation, and takes back what was listed by it, looks the same: that alarm is false.
    """
    observer, old = Observer(), open_repository(storage, PASSWORD).store
    victim = bytes.fromhex(open_repository(storage, PASSWORD).backups()[0].object_id)
    rotate(keychain(storage), [PASSWORD])
    observer.look(storage)
    take_back(old, victim, SYSTEM_CLOCK.now_ns())
    assert victim.hex() in observer.look(storage)


def test_a_backup_withheld_from_a_rotation_is_missed(storage: MemoryStorage) -> None:
    observer = Observer()
    observer.look(storage)
    victim = bytes.fromhex(open_repository(storage, PASSWORD).backups()[0].object_id)
    without(storage, victim)
    rotate(keychain(storage), [PASSWORD])
    assert victim.hex() in observer.look(storage)


@pytest.mark.parametrize("put", [mark, sweep])
def test_a_number_withheld_from_a_rotation_is_missed(
    storage: MemoryStorage, put: Callable[[ObjectStore, int], bytes]
) -> None:
    observer = Observer()
    object_id = put(open_repository(storage, PASSWORD).store, 4)
    observer.look(storage)
    without(storage, object_id)
    rotate(keychain(storage), [PASSWORD])
    assert "number 4 was seen here" in observer.look(storage)


def test_a_tombstone_withheld_with_what_it_deleted_is_one(storage: MemoryStorage) -> None:
    """A lost one looks the same: that a backup was deleted is known by its tombstone alone."""
    observer, repository = Observer(), open_repository(storage, PASSWORD)
    victim = bytes.fromhex(repository.backups()[0].object_id)
    tombstone = TombstoneRecord((victim,), 1, "keep rule")
    tombstone_id = repository.store.put(ObjectKind.TOMBSTONE, encode(tombstone))
    observer.look(storage)
    without(storage, victim, tombstone_id)
    assert victim.hex() in observer.look(storage)
