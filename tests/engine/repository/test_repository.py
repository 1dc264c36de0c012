"""The front door: two copies, flipped bits in every object, epochs, read-only media, controllers."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import blake3
import msgspec
import pytest

from repositories.engine.controllers import Controller, put_controller, read_controllers
from repositories.engine.creation import seal_keyring
from repositories.engine.errors import (
    ConfigurationError,
    EngineError,
    StorageFullError,
    StorageReadOnlyError,
)
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.config import config_to_bytes
from repositories.engine.format.inventories import InventoryEntry, InventoryRecord
from repositories.engine.format.kinds import ObjectKind, generation_group, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.keys.keyring import EpochKey, open_keyring
from repositories.engine.keys.slots import SlotOwner, SlotRole, make_slot, slot_to_bytes
from repositories.engine.objects.pairs import put_all
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP, PASSWORD, START_NS, RepeatableRandomness, pinned_repository


@pytest.fixture
def storage() -> MemoryStorage:
    made = MemoryStorage()
    commit(pinned_repository(made).repository, 1)
    commit(open_repository(made, PASSWORD), 2)
    return made


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]


def places(data: bytes) -> Iterator[int]:
    """Yield offsets that touch every header field and some of the rest."""
    yield from range(0, min(len(data), 120), 7)
    yield from range(120, len(data), max(len(data) // 5, 1))


def test_one_whole_copy_is_enough(storage: MemoryStorage) -> None:
    """What is written twice is read from either, damaged or missing."""
    whole = dict(storage.objects)
    twice = [name for name in whole if "copies/" + name in whole]
    assert {name.split("/")[0] for name in twice} == {"config", "keyrings", "slots", "index", "manifests"}
    for broken in (lambda name: name, lambda name: "copies/" + name):
        storage.objects = dict(whole)
        for name in twice:
            storage.objects[broken(name)] = flipped(whole[name], len(whole[name]) // 2)
        assert len(require_readable(open_repository(storage, PASSWORD))) == 2
        for name in twice:
            del storage.objects[broken(name)]
        assert len(require_readable(open_repository(storage, PASSWORD))) == 2


def test_a_flipped_bit_in_both_copies_never_passes_for_truth(storage: MemoryStorage) -> None:
    """Each object, many places: an error or a thing told missing, never other content."""
    expected = require_readable(open_repository(storage, PASSWORD))
    whole = dict(storage.objects)
    for name in [name for name in whole if not name.startswith(("copies/", "reserve"))]:
        unnoticed = []
        for at in places(whole[name]):
            storage.objects = dict(whole)
            for each in (name, "copies/" + name):
                if each in whole:
                    storage.objects[each] = flipped(whole[each], at)
            try:
                repository = open_repository(storage, PASSWORD)
                roots = require_readable(repository)
                assert all(root in expected for root in roots)
                if roots == expected and not repository.damaged_manifests() and not repository.catalogue.damaged():
                    unnoticed.append(at)
            except EngineError:
                continue
        # The recovery slot and the first, empty segment are not needed here; pack bytes outside blocks neither.
        if name.split("/")[0] in {"config", "keyrings", "manifests"}:
            assert unnoticed == [], name


def test_damaged_manifests_are_named_and_hide_no_other(storage: MemoryStorage) -> None:
    name = next(name for name in storage.objects if name.startswith("manifests/"))
    storage.objects[name] = storage.objects["copies/" + name] = storage.objects[name][:100]
    repository = open_repository(storage, PASSWORD)
    assert len(repository.backups()) == 1
    assert repository.damaged_manifests() == [name]
    assert len(require_readable(repository)) == 1


def test_a_damaged_segment_heals_with_the_next_backup(storage: MemoryStorage) -> None:
    """What an unreadable segment listed is found by the packs' own directories, and listed by whoever refers to it."""
    largest = max(
        (name for name in storage.objects if name.startswith("index/")), key=lambda name: len(storage.objects[name])
    )
    for each in (largest, "copies/" + largest):
        storage.objects[each] = storage.objects[each][:-1]
    repository = open_repository(storage, PASSWORD)
    assert len(require_readable(repository)) == 2
    for seed in (1, 2):
        commit(repository, seed)
    assert len(require_readable(open_repository(storage, PASSWORD))) == 4


def test_what_the_medium_shows(storage: MemoryStorage) -> None:
    """Guarantee 1: nothing that was stored is found in the repository's bytes."""
    everything = b"".join(storage.objects.values())
    assert b"file 1 3" not in everything
    assert b"file 2 29" not in everything
    assert PASSWORD not in everything
    repository = open_repository(storage, PASSWORD)
    assert repository.keyring.epoch_key(1) not in everything


def rotated(storage: MemoryStorage, inventory: bool) -> Repository:
    """Return the repository after a rotation to epoch 2 that named the first manifest and all segments."""
    old = open_repository(storage, PASSWORD)
    randomness = RepeatableRandomness(b"rotation")
    record = old.keyring.record
    record = msgspec.structs.replace(
        record,
        generation=2,
        epochs=(*record.epochs, EpochKey(2, randomness(32), START_NS)),
        current_epoch=2,
    )
    if inventory:
        named = [
            *((ObjectKind.INDEX, each) for each in old.store.ids(ObjectKind.INDEX)),
            (ObjectKind.MANIFEST, bytes.fromhex(old.backups()[0].object_id)),
        ]
        entries = tuple(
            InventoryEntry(kind, each, blake3.blake3(storage.objects[object_name(kind, each)]).digest())
            for kind, each in named
        )
        new_store = ObjectStore(storage, old.config.repository_id, open_keyring(record), randomness)
        inventory_id = new_store.put(ObjectKind.INVENTORY, encode(InventoryRecord(2, entries)))
        stored = storage.objects[object_name(ObjectKind.INVENTORY, inventory_id)]
        record = msgspec.structs.replace(
            record, inventory_id=inventory_id, inventory_hash=blake3.blake3(stored).digest()
        )
    key, group = randomness(32), generation_group(2)
    owner = SlotOwner(old.config.repository_id, 2, SlotRole.PASSWORD, "new", START_NS)
    slot = make_slot(owner, b"new password", key, CHEAP, randomness)
    put_all(storage, ObjectKind.SLOT, object_name(ObjectKind.SLOT, slot.facts.slot_id, group), slot_to_bytes(slot))
    keyring_id = randomness(16)
    sealed = seal_keyring(record, key, keyring_id, config_to_bytes(old.config), randomness)
    put_all(storage, ObjectKind.KEYRING, object_name(ObjectKind.KEYRING, keyring_id, group), sealed)
    return open_repository(storage, b"new password")


def test_after_a_rotation_only_what_the_inventory_names_counts(storage: MemoryStorage) -> None:
    before = open_repository(storage, PASSWORD)
    first, _ = [backup.object_id for backup in before.backups()]
    repository = rotated(storage, inventory=True)
    assert [backup.object_id for backup in repository.backups()] == [first]
    assert len(require_readable(repository)) == 1
    commit(repository, 3)
    forged = commit_with_retired_key(before)
    assert forged not in [backup.object_id for backup in repository.backups()]
    assert len(require_readable(open_repository(storage, b"new password"))) == 2


def commit_with_retired_key(before: Repository) -> str:
    """Put a manifest as someone who kept the old password can."""
    record = ManifestRecord(9, START_NS, 1, bytes(16), b"forged")
    return before.store.put(ObjectKind.MANIFEST, encode(record)).hex()


def test_without_an_inventory_nothing_of_an_older_epoch_counts(storage: MemoryStorage) -> None:
    repository = rotated(storage, inventory=False)
    assert repository.backups() == []
    assert repository.damaged_manifests() == []


def test_a_retired_password_ends_with_exit_12(storage: MemoryStorage) -> None:
    rotated(storage, inventory=True)
    with pytest.raises(EngineError) as caught:
        open_repository(storage, PASSWORD)
    assert caught.value.exit_code == 12


def test_a_changed_inventory_is_refused(storage: MemoryStorage) -> None:
    rotated(storage, inventory=True)
    for name in [name for name in storage.objects if "inventories/" in name]:
        storage.objects[name] = flipped(storage.objects[name], 150)
    with pytest.raises(EngineError) as caught:
        open_repository(storage, b"new password")
    assert caught.value.exit_code == 13


def test_a_read_only_medium_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "repository"
    commit(pinned_repository(LocalStorage(str(path))).repository, 1)

    def read_only(*_: object, **__: object) -> int:
        raise PermissionError(30, "read-only")

    repository = open_repository(LocalStorage(str(path)), PASSWORD)
    monkeypatch.setattr(os, "mkdir", read_only)
    monkeypatch.setattr(os, "write", read_only)
    with repository.begin_read():
        assert len(require_readable(repository)) == 1
    with pytest.raises(StorageReadOnlyError):
        repository.begin_write()


def test_a_full_medium_in_the_middle_of_a_pack(tmp_path: Path) -> None:
    """1.21: the kernel refuses more bytes of a pack; earlier backups are whole, and with room it works again."""
    path = tmp_path / "repository"
    commit(pinned_repository(LocalStorage(str(path))).repository, 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(StorageFullError) as caught:
            commit(open_repository(LocalStorage(str(path)), PASSWORD), 2)
        assert caught.value.failure_class == "repository"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert [file for file in (path / "tmp").rglob("*") if file.is_file()] == []
    assert len(require_readable(open_repository(LocalStorage(str(path)), PASSWORD))) == 1
    commit(open_repository(LocalStorage(str(path)), PASSWORD), 2)
    assert len(require_readable(open_repository(LocalStorage(str(path)), PASSWORD))) == 2


def test_controllers_keep_their_highest(storage: MemoryStorage) -> None:
    """The epoch and highest fence of each control plane, whatever the order of workers."""
    repository = open_repository(storage, PASSWORD)
    one, two = b"\1" * 16, b"\2" * 16
    for controller, epoch, fence in ((one, 1, 5), (two, 1, 90), (one, 1, 8), (one, 1, 7), (two, 2, 3)):
        put_controller(repository, controller, epoch, fence)
    assert read_controllers(repository) == [Controller(one, 1, 8), Controller(two, 2, 3)]
    group = [name for name in storage.objects if name.startswith(f"controllers/{one.hex()}/")]
    assert len(group) == 2, "lower ones that were there are removed, the highest never"
    storage.objects[group[0]] = b"torn"
    assert len(read_controllers(repository)) == 2
    with pytest.raises(ConfigurationError):
        put_controller(repository, b"short", 1, 1)


def test_padding_hides_lengths() -> None:
    """`create --padding`: all sealed objects but leases of one class share few lengths."""
    lengths = set()
    for count in range(1, 40):
        storage = MemoryStorage()
        repository = pinned_repository(storage, padding=True).repository
        with repository.begin_write() as session:
            session.put(ChunkKind.DATA, os.urandom(2_000 + count))
            session.commit(b"r" * count, lambda: None)
        lengths |= {len(data) for name, data in storage.objects.items() if name.startswith("packs/")}
        assert len(repository.backups()) == 1
    assert len(lengths) <= 2
