"""What a rotation has put and the medium has lost: named with a step that helps, never opened around (3.5, 3.9)."""

import pytest

from repositories.engine.errors import IntegrityError, InventoryLostError, KeyringLostError
from repositories.engine.ids import system_randomness
from repositories.engine.keychain import add_password, rotate
from repositories.engine.opening import unlock
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, keychain
from tests.engine.repositories import PASSWORD


@pytest.fixture
def storage() -> MemoryStorage:
    """Return a repository whose leaked password a rotation has ended; the earlier keyring still lies there."""
    storage = MemoryStorage()
    create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10))
    add_password(keychain(storage), OTHER, "leaked")
    rotate(keychain(storage), [PASSWORD])
    return storage


def lose(storage: MemoryStorage, start: str) -> dict[str, bytes]:
    """Remove all copies of what begins so; return them."""
    lost = {name: data for name, data in storage.objects.items() if name.removeprefix("copies/").startswith(start)}
    assert lost
    for name in lost:
        del storage.objects[name]
    return lost


@pytest.mark.parametrize("secret", [PASSWORD, OTHER])
def test_a_lost_keyring_is_named_and_nobody_is_told_to_bring_old_slots_back(
    storage: MemoryStorage, secret: bytes
) -> None:
    lost = lose(storage, "keyrings/00000002")
    with pytest.raises(KeyringLostError, match="generation 2 is missing in keyrings/00000002") as caught:
        open_repository(storage, secret)
    assert "no older key slots" in caught.value.hint
    assert "slots/00000001" not in caught.value.message + caught.value.hint
    storage.objects.update(lost)
    open_repository(storage, PASSWORD)


@pytest.mark.parametrize("start", ["keyrings/00000002", "slots/00000002", "config/"])
@pytest.mark.parametrize("cut", [False, True])
def test_what_is_damaged_in_both_copies_warns_of_old_slots_too(storage: MemoryStorage, start: str, cut: bool) -> None:
    for name, data in lose(storage, start).items():
        storage.objects[name] = data[:-1] if cut else data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(IntegrityError) as caught:
        open_repository(storage, PASSWORD)
    assert "no older key slots" in caught.value.hint


def test_slots_of_a_rotation_that_was_broken_off_keep_nobody_out(storage: MemoryStorage) -> None:
    slots = [name for name in storage.objects if "slots/" in name]
    storage.objects.update({name.replace("00000002", "00000003"): storage.objects[name] for name in slots})
    assert open_repository(storage, PASSWORD).keyring.generation == 2


@pytest.mark.parametrize("damaged", [False, True])
def test_a_lost_inventory_is_named_with_what_it_is_for(storage: MemoryStorage, damaged: bool) -> None:
    lost = lose(storage, "inventories/")
    if damaged:
        storage.objects.update({name: data[:-1] + bytes([data[-1] ^ 1]) for name, data in lost.items()})
    with pytest.raises(InventoryLostError, match="both copies of inventories/") as caught:
        open_repository(storage, PASSWORD)
    assert "from a copy" in caught.value.hint
    # Once it said to run check, which then said the same; these three go on without (tests/cli/test_lost_inventory.py).
    assert "list, check and restore show what was sealed since" in caught.value.hint
    opened = unlock(storage, PASSWORD, system_randomness, without_inventory=True)
    assert opened.inventory_lost is not None
    assert not opened.store.inventory
    storage.objects.update(lost)
    open_repository(storage, PASSWORD)
