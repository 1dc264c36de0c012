"""The look at the keys: what makes others wait, for how long, and what does not (3.5, 3.8)."""

import pytest

from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.rotations import IntentRecord, intent_to_bytes
from repositories.engine.keychain import rotate
from repositories.engine.keychain.keychain import Announcement
from repositories.engine.objects.decided import finish_decided, intent_name, newest_keyring, read_intents
from repositories.engine.objects.rotations import EXPIRY_SECONDS, PATIENCE_SECONDS, KeyWatch, Standing
from repositories.engine.repository import CreateOptions, create_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import RunningClock, keychain
from tests.engine.repositories import PASSWORD


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10))
    return storage


def watch(storage: MemoryStorage, clock: RunningClock) -> KeyWatch:
    return KeyWatch(keychain(storage).store, clock, clock.pause)


def test_a_quiet_look() -> None:
    storage = MemoryStorage()
    create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10))
    clock = RunningClock()
    watch(storage, clock).require_quiet("nothing")
    assert clock.seconds == 0


def test_a_rotation_that_lives_is_waited_for_and_other_changes_are_not(storage: MemoryStorage) -> None:
    clock = RunningClock()
    looking = watch(storage, clock)
    adding = Announcement(keychain(storage), SessionPurpose.KEYS)
    assert looking.look() is Standing.QUIET
    rotating = Announcement(keychain(storage), SessionPurpose.ROTATE)
    assert looking.look() is Standing.UNDER_WAY
    called: list[float] = []

    def meanwhile() -> None:
        called.append(clock.seconds)
        if len(called) == 5:
            rotating.end()

    looking.require_quiet("nothing", meanwhile)
    assert len(called) == 5
    adding.end()


def test_what_meanwhile_raises_ends_the_waiting(storage: MemoryStorage) -> None:
    rotating = Announcement(keychain(storage), SessionPurpose.ROTATE)

    def cancel() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        watch(storage, RunningClock()).require_quiet("nothing", cancel)
    rotating.end()


def test_a_rotation_that_died_elsewhere_is_waited_for_five_minutes(storage: MemoryStorage) -> None:
    """Nothing waits for a dead process by hand; afterwards it can do no harm, should it wake."""
    rotating = Announcement(keychain(storage), SessionPurpose.ROTATE)
    clock = RunningClock()
    watch(storage, clock).require_quiet("nothing")
    assert EXPIRY_SECONDS <= clock.seconds < EXPIRY_SECONDS + 5
    assert not rotating.is_there()
    rotating.end()


def test_one_whose_lease_is_gone_is_over(storage: MemoryStorage) -> None:
    keys = keychain(storage)
    rotating = Announcement(keys, SessionPurpose.ROTATE)
    keys.store.remove(ObjectKind.SESSION, rotating.id)
    assert watch(storage, RunningClock()).look() is Standing.QUIET
    assert not rotating.is_there()
    rotating.end()


def test_torn_objects_make_nobody_wait(storage: MemoryStorage) -> None:
    storage.objects["keychanges/" + "00" * 16] = b"SYNCOVA1 torn"
    intent = IntentRecord(2, bytes(16), b"keyring")
    storage.objects[intent_name(intent)] = intent_to_bytes(intent)[:-1]
    assert read_intents(storage) == []
    assert watch(storage, RunningClock()).look() is Standing.QUIET


def test_an_undecided_intent_refuses_until_the_next_rotation(storage: MemoryStorage) -> None:
    """Its announcement is gone: perhaps somebody saw both, and goes on later. The next generation is higher."""
    intent = IntentRecord(2, bytes(16), b"keyring")
    storage.put(intent_name(intent), intent_to_bytes(intent))
    clock = RunningClock()
    with pytest.raises(CommitRefusedError, match="broke off undecided"):
        watch(storage, clock).require_quiet("nothing was committed")
    assert PATIENCE_SECONDS < clock.seconds < PATIENCE_SECONDS + 5
    finish_decided(storage)
    assert newest_keyring(storage) == 1
    assert rotate(keychain(storage), [PASSWORD]).generation == 3
    finish_decided(storage)
    assert not any(name.startswith("intents/") for name in storage.objects)
    assert watch(storage, RunningClock()).look() is Standing.QUIET


def test_whoever_looks_finishes_what_is_decided(storage: MemoryStorage) -> None:
    """It needs no key: the intent holds the keyring's bytes. A torn copy of the keyring is put again."""
    clock = RunningClock()
    looking = watch(storage, clock)
    rotate(keychain(storage), [PASSWORD])
    (name,) = [each for each in storage.objects if each.startswith("keyrings/00000002/")]
    keyring = storage.objects[name]
    identity = bytes.fromhex(name[-32:])
    intent = IntentRecord(2, identity, keyring)
    storage.put(intent_name(intent), intent_to_bytes(intent))
    storage.objects[name] = keyring[:-1]
    del storage.objects["copies/" + name]
    storage.objects[object_name(ObjectKind.KEY_CHANGE, identity)] = b"of a process that died"
    assert looking.look() is Standing.DONE
    assert storage.objects[name] == storage.objects["copies/" + name] == keyring
    assert not any(each.startswith(("intents/", "keychanges/")) for each in storage.objects)
    with pytest.raises(CommitRefusedError, match="rotated meanwhile: nothing was committed"):
        looking.require_quiet("nothing was committed")
