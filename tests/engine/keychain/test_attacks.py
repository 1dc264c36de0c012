"""Whoever knows an ended password with all its keys, and can write to the medium, forges nothing (3.5, 3f)."""

import blake3
import pytest

from repositories.engine.codec.envelopes import open_record
from repositories.engine.codec.sealing import derive_seal
from repositories.engine.controllers import read_controllers
from repositories.engine.creation import seal_keyring
from repositories.engine.errors import (
    IntegrityError,
    RetiredKeyError,
    WrongKeyError,
)
from repositories.engine.format.collection import ControllerRecord, MarkRecord, SweepRecord
from repositories.engine.format.commits import CheckpointRecord, ManifestRecord
from repositories.engine.format.headers import (
    OBJECT_HEADER_LENGTH,
    PART_HEADER_LENGTH,
    parse_object_header,
    parse_part_header,
)
from repositories.engine.format.kinds import (
    COPIES,
    ObjectKind,
    PartKind,
    generation_group,
    object_id_of,
    object_name,
)
from repositories.engine.format.notes import AnnotationKind, AnnotationRecord, TombstoneRecord
from repositories.engine.format.records import encode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.ids import ChunkKind, system_randomness
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.keychain import add_password, rotate
from repositories.engine.keys.keyring import EpochKey
from repositories.engine.keys.slots import SlotOwner, SlotRole, make_slot, slot_to_bytes
from repositories.engine.opening import OpenedRepository, unlock
from repositories.engine.repository import CreateOptions, create_repository, open_repository
from repositories.engine.sessions.views import read_damage, read_hurt, read_marks, read_newest_sweep
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import commit, require_readable
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, keychain, opens
from tests.engine.repositories import PASSWORD


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    commit(create_repository(storage, CreateOptions(PASSWORD, "first", kdf=CHEAP, reserve_bytes=10)).repository, 1)
    add_password(keychain(storage), OTHER, "leaked")
    return storage


@pytest.fixture
def thief(storage: MemoryStorage) -> OpenedRepository:
    """Return all that opens with the password that ends, taken before the rotation, which is done then."""
    opened = unlock(storage, OTHER, system_randomness)
    rotate(keychain(storage), [PASSWORD])
    return opened


FORGED = {
    ObjectKind.MANIFEST: ManifestRecord(2**40, 0, 1, bytes(16), b"root"),
    ObjectKind.INDEX: SegmentRecord(2**40, bytes(16), 0, (), ()),
    ObjectKind.ANNOTATION: AnnotationRecord(AnnotationKind.HOLD, bytes(16), 0, "x"),
    ObjectKind.TOMBSTONE: TombstoneRecord((bytes(16),), 0, "x"),
    ObjectKind.DAMAGE: DamageRecord(0, bytes(16), b"", "x"),
    ObjectKind.CHECKPOINT: CheckpointRecord(2**40, 0, 1, bytes(16), b"root"),
    ObjectKind.MARK: MarkRecord(2**40, bytes(16), 0, b""),
    ObjectKind.SWEEP: SweepRecord(2**40, bytes(16), 0, b"", b"", b"", b""),
    ObjectKind.VERIFIED: CheckedRecord(2**62, b"", bytes(16)),
}


@pytest.mark.parametrize("kind", list(FORGED), ids=lambda kind: kind.name)
def test_a_new_object_under_an_old_key_does_not_count(
    kind: ObjectKind, storage: MemoryStorage, thief: OpenedRepository
) -> None:
    forged = thief.store.put(kind, encode(FORGED[kind]))
    repository = open_repository(storage, PASSWORD)
    with pytest.raises(RetiredKeyError):
        repository.store.read(kind, forged)
    assert forged not in repository.store.read_all(kind)
    assert len(require_readable(repository)) == 1
    assert repository.damaged_manifests() == []
    assert read_damage(repository.store) == {}
    assert read_marks(repository.store).highest == read_newest_sweep(repository.store).number == 0
    assert repository.checkpoints().counted == repository.checkpoints().void == []
    assert read_hurt(repository.store) == frozenset()


def test_a_control_plane_is_not_made_up(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """Else one true control plane would take its own database for an older dump."""
    record = ControllerRecord(bytes(16), 9, 2**40, 0)
    thief.store.put(ObjectKind.CONTROLLER, encode(record), group=bytes(16).hex())
    assert read_controllers(open_repository(storage, PASSWORD)) == []


def test_what_was_removed_before_a_rotation_does_not_come_back(storage: MemoryStorage) -> None:
    """A hold that had ended, kept by somebody who copied the medium: no inventory names it."""
    store = open_repository(storage, PASSWORD).store
    manifest_id = store.ids(ObjectKind.MANIFEST)[0]
    hold = store.put(ObjectKind.ANNOTATION, encode(AnnotationRecord(AnnotationKind.HOLD, manifest_id, 0, "x")))
    name = object_name(ObjectKind.ANNOTATION, hold)
    kept = storage.objects.pop(name)
    rotate(keychain(storage), [PASSWORD])
    storage.objects[name] = kept
    notes = open_repository(storage, PASSWORD).notes()
    assert (notes.annotations, notes.damaged) == ({}, ())


def test_an_object_of_before_cannot_be_exchanged(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """Its name is in the inventory, its new bytes are not. One copy that was left alone is enough."""
    (name,) = [each for each in storage.objects if each.startswith("manifests/")]
    manifest_id = object_id_of(name)
    assert manifest_id is not None
    true = storage.objects.pop(name)
    copy = storage.objects.pop(COPIES + name)
    thief.store.put(ObjectKind.MANIFEST, encode(FORGED[ObjectKind.MANIFEST]), manifest_id)
    forged = storage.objects[name]
    with pytest.raises(RetiredKeyError):
        open_repository(storage, PASSWORD).store.read(ObjectKind.MANIFEST, manifest_id)
    storage.objects[COPIES + name] = copy
    assert len(require_readable(open_repository(storage, PASSWORD))) == 1
    assert forged != true


def test_a_forged_pack_vouches_for_nothing(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """No index that counts names it: a writer stores its contents again. A chunk always proves itself by its id."""
    content = b"planted" * 100
    medium = _with(storage, thief)
    with open_repository(medium, OTHER).begin_write() as session:
        session.put(ChunkKind.DATA, content)
        session.flush()
    storage.objects.update({name: data for name, data in medium.objects.items() if _is_content(name)})
    repository = open_repository(storage, PASSWORD)
    with repository.begin_write() as session:
        assert session.put(ChunkKind.DATA, content)[1], "it must be stored again"
        session.flush()
    reader = open_repository(storage, PASSWORD).reader()
    assert reader.read(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, content)) == content


def _is_content(name: str) -> bool:
    return name.removeprefix(COPIES).startswith(("packs/", "index/"))


def _with(storage: MemoryStorage, thief: OpenedRepository) -> MemoryStorage:
    """Return the medium as the thief has kept it: with the slot and keyring from before."""
    kept = MemoryStorage()
    kept.objects.update({name: data for name, data in storage.objects.items() if "00000002" not in name})
    name = object_name(ObjectKind.SLOT, thief.slot.facts.slot_id, generation_group(1))
    kept.objects[name] = slot_to_bytes(thief.slot)
    return kept


def test_old_keys_open_nothing_new(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """Neither keyring nor inventory nor a new manifest opens with any secret that the thief has."""
    new = bytes.fromhex(commit(open_repository(storage, PASSWORD), 2))
    (keyring,) = [each for each in storage.objects if each.startswith("keyrings/00000002/")]
    (inventory,) = [each for each in storage.objects if each.startswith("inventories/")]
    record = thief.store.keyring.record
    secrets = [thief.generation_key, OTHER.ljust(32, b"\0"), *(epoch.key for epoch in record.epochs)]
    secrets += [each.key for each in record.chunk_id_keys] + [each.key for each in record.chunkers]
    for kind, name in (
        (ObjectKind.KEYRING, keyring),
        (ObjectKind.INVENTORY, inventory),
        (ObjectKind.MANIFEST, object_name(ObjectKind.MANIFEST, new)),
    ):
        extra = thief.config_bytes if kind is ObjectKind.KEYRING else b""
        object_id = object_id_of(name)
        assert object_id is not None
        for secret in secrets:
            keys = {2: secret}
            with pytest.raises(IntegrityError, match="fails authentication"):
                open_record(record.repository_id, keys.__getitem__, (kind, object_id), storage.objects[name], extra)
    everything = b"".join(storage.objects.values())
    held = unlock(storage, PASSWORD, system_randomness).store.keyring
    assert held.epoch_key(2) not in everything
    assert all(epoch.key not in everything for epoch in held.record.epochs)


def test_no_old_secret_opens_anything_that_is_new(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """Whatever a backup, a note and a mark put after the rotation: each part, tried with each secret from before."""
    before = set(storage.objects)
    repository = open_repository(storage, PASSWORD)
    newest = bytes.fromhex(commit(repository, 2))
    for kind in (ObjectKind.ANNOTATION, ObjectKind.TOMBSTONE, ObjectKind.MARK, ObjectKind.CHECKPOINT):
        repository.store.put(kind, encode(FORGED[kind]))
    record = thief.store.keyring.record
    secrets = [thief.generation_key, *(each.key for each in record.epochs)]
    secrets += [*(each.key for each in record.chunk_id_keys), *(each.key for each in record.chunkers)]
    seen = set()
    for name in storage.objects.keys() - before:
        data = storage.objects[name]
        header = parse_object_header(data)
        seen.add(header.kind)
        end = OBJECT_HEADER_LENGTH + PART_HEADER_LENGTH + parse_part_header(data, OBJECT_HEADER_LENGTH).length
        part = PartKind.BLOCK if header.kind is ObjectKind.PACK else PartKind.RECORD
        first = memoryview(data)[OBJECT_HEADER_LENGTH:end]
        assert derive_seal(repository.keyring.epoch_key(2), header, record.repository_id).open(0, part, first)
        for secret in secrets:
            with pytest.raises(IntegrityError, match="fails authentication"):
                derive_seal(secret, header, record.repository_id).open(0, part, first)
    assert seen >= {ObjectKind.PACK, ObjectKind.INDEX, ObjectKind.MANIFEST, ObjectKind.ANNOTATION, ObjectKind.MARK}
    with pytest.raises(IntegrityError, match="key epoch 2"):
        thief.store.read(ObjectKind.MANIFEST, newest)


def test_a_made_up_generation_locks_out_and_shows_nothing_false(
    storage: MemoryStorage, thief: OpenedRepository
) -> None:
    """Whoever can write can also destroy; nobody is led to believe in something made up."""
    key = bytes(32)
    record = thief.store.keyring.record
    evil = type(record)(
        **{
            **{name: getattr(record, name) for name in record.__struct_fields__},
            "generation": 3,
            "epochs": (EpochKey(3, key, 0), *record.epochs),
            "current_epoch": 3,
        }
    )
    slot = make_slot(
        SlotOwner(record.repository_id, 3, SlotRole.PASSWORD, "first", 0), OTHER, key, CHEAP, system_randomness
    )
    keyring_id = bytes(16)
    group = generation_group(3)
    storage.put(object_name(ObjectKind.SLOT, slot.facts.slot_id, group), slot_to_bytes(slot))
    sealed = seal_keyring(evil, key, keyring_id, thief.config_bytes, system_randomness)
    storage.put(object_name(ObjectKind.KEYRING, keyring_id, group), sealed)
    with pytest.raises(WrongKeyError):
        open_repository(storage, PASSWORD)


def test_slots_and_keyrings_of_before_do_not_pass_as_newer_ones(
    storage: MemoryStorage, thief: OpenedRepository
) -> None:
    """Generation and id are bound: copied under other names they open nothing."""
    (keyring,) = [each for each in storage.objects if each.startswith("keyrings/00000001/")]
    slot = slot_to_bytes(thief.slot)
    for group in ("00000002", "00000003"):
        identity = object_id_of(keyring)
        assert identity is not None
        storage.objects[object_name(ObjectKind.KEYRING, identity, group)] = storage.objects[keyring]
        storage.objects[object_name(ObjectKind.SLOT, thief.slot.facts.slot_id, group)] = slot
        if group == "00000002":
            assert not opens(storage, OTHER)
            assert len(require_readable(open_repository(storage, PASSWORD))) == 1
            continue
        with pytest.raises(IntegrityError):
            open_repository(storage, OTHER)


def test_without_the_newest_keyring_nothing_opens_by_itself(storage: MemoryStorage, thief: OpenedRepository) -> None:
    """The rotation took the earlier slots away: a lost keyring is told, no earlier state is shown as the present one.

    Whoever kept those slots can roll the medium back, since later slots without a keyring are also what a rotation that
    died leaves: what was sealed since cannot be read then, and is told.
    """
    new = bytes.fromhex(commit(open_repository(storage, PASSWORD), 2))
    for name in [each for each in storage.objects if "keyrings/00000002/" in each]:
        del storage.objects[name]
    for secret in (PASSWORD, OTHER):
        with pytest.raises(IntegrityError, match="the keyring of generation 2 is missing"):
            open_repository(storage, secret)
    storage.put(object_name(ObjectKind.SLOT, thief.slot.facts.slot_id, generation_group(1)), slot_to_bytes(thief.slot))
    rolled_back = open_repository(storage, OTHER)
    assert len(rolled_back.backups()) == 1
    assert rolled_back.damaged_manifests() == [object_name(ObjectKind.MANIFEST, new)]


def test_a_forged_inventory_is_none(storage: MemoryStorage, thief: OpenedRepository) -> None:
    (name,) = [each for each in storage.objects if each.startswith("inventories/")]
    true = storage.objects[name]
    thief_bytes = bytearray(true)
    thief_bytes[-1] ^= 1
    for each in (name, COPIES + name):
        storage.objects[each] = bytes(thief_bytes)
    with pytest.raises(IntegrityError, match=r"both copies of inventories/.* are lost"):
        open_repository(storage, PASSWORD)
    for each in (name, COPIES + name):
        del storage.objects[each]
    with pytest.raises(IntegrityError, match=r"both copies of inventories/.* are lost"):
        open_repository(storage, PASSWORD)
    storage.objects[COPIES + name] = true
    assert blake3.blake3(true).digest() == open_repository(storage, PASSWORD).keyring.record.inventory_hash
