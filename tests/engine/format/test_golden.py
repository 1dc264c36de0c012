"""Pinned bytes: repositories of format 1 stay readable, and what is written stays the same (guarantee 9, 1.6)."""

import msgspec
import pytest

from repositories.engine.controllers import Controller, read_controllers
from repositories.engine.format import verification
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import PASSWORD, START_NS
from tests.engine.format import golden


def stored() -> MemoryStorage:
    storage = MemoryStorage()
    storage.objects.update(golden.load())
    return storage


def test_writing_gives_the_pinned_bytes() -> None:
    """A change here is a change of the format, unless only zstd's own output changed with its version."""
    _, objects = golden.build()
    pinned = golden.load()
    assert sorted(objects) == sorted(pinned)
    for name in objects:
        assert objects[name].hex() == pinned[name].hex(), name


def test_pinned_bytes_open_with_password_and_recovery_code() -> None:
    recovery_code = golden.build()[0].recovery_code
    assert recovery_code == "NBBG-Q2PX-987X-4BV8-4XA5-F2DR-8DFR-VKVC-Q5XK"
    for secret in (PASSWORD, recovery_code.encode(), recovery_code.lower().replace("-", " ").encode()):
        repository = open_repository(stored(), secret)
        assert repository.keyring.generation == 1
    assert [slot.facts.label for slot in repository.slots()[0]] == ["first", "recovery code"]


def test_pinned_bytes_hold_backup_checkpoint_and_chunks() -> None:
    repository = open_repository(stored(), PASSWORD)
    (backup,) = repository.backups()
    assert (backup.root, backup.received_ns, backup.fence) == (golden.ROOT, START_NS, 0)
    assert [each.root for each in repository.checkpoints().counted] == [golden.ROOT]
    reader = repository.reader()
    for kind, contents in golden.CHUNKS.items():
        for content in contents:
            assert reader.read(kind, repository.keyring.chunk_id(kind, content)) == content
    assert read_controllers(repository) == [Controller(b"\x0b" * 16, 1, 42)]


@pytest.mark.parametrize("kind", list(golden.RECORDS), ids=lambda kind: kind.name)
def test_pinned_records_decode(kind: ObjectKind) -> None:
    store = open_repository(stored(), PASSWORD).store
    expected = golden.RECORDS[kind]
    (payload,) = store.read_all(kind).values()
    assert decode(payload, type(expected)) == expected


def test_a_record_of_damage_without_its_last_field_is_read() -> None:
    """Records that were written before a later check could withdraw damage have four fields."""
    whole = golden.RECORDS[ObjectKind.DAMAGE]
    assert isinstance(whole, verification.DamageRecord)
    earlier = msgspec.msgpack.encode((whole.found_ns, whole.pack_id, whole.chunks, whole.reason))
    assert decode(earlier, verification.DamageRecord) == whole
