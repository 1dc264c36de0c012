"""Pinned bytes of a rotated repository stay readable, and a rotation goes on writing the same (guarantee 9, 3.5)."""

import pytest

from repositories.engine.errors import WrongKeyError
from repositories.engine.format.records import encode
from repositories.engine.format.rotations import IntentRecord, KeyChangeRecord, intent_to_bytes, parse_intent
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import PASSWORD
from tests.engine.format import golden, golden_rotated


def stored() -> MemoryStorage:
    storage = MemoryStorage()
    storage.objects.update(golden_rotated.load())
    return storage


def test_a_rotation_gives_the_pinned_bytes() -> None:
    objects, pinned = golden_rotated.build(), golden_rotated.load()
    assert sorted(objects) == sorted(pinned)
    for name in objects:
        assert objects[name].hex() == pinned[name].hex(), name


def test_pinned_bytes_hold_backups_of_both_epochs() -> None:
    repository = open_repository(stored(), PASSWORD)
    assert (repository.keyring.generation, repository.keyring.current_epoch) == (2, 2)
    assert {backup.root for backup in repository.backups()} == {golden.ROOT, golden_rotated.NEW_ROOT}
    reader = repository.reader()
    for content in (golden_rotated.NEW_CHUNK, *golden.CHUNKS[ChunkKind.DATA]):
        assert reader.read(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, content)) == content
    assert [each.root for each in repository.checkpoints().counted] == [golden.ROOT]


def test_the_recovery_code_of_before_has_ended() -> None:
    with pytest.raises(WrongKeyError):
        open_repository(stored(), golden.build()[0].recovery_code.encode())


def test_what_leads_to_a_rotation_is_pinned() -> None:
    """Both are gone when it is done, and may be there when it is not."""
    announcement = KeyChangeRecord(4, 1, b"\x02" * 16, 4026531836, 4711, 123456, "host", 5)
    assert encode(announcement).hex() == f"980401c410{'02' * 16}ceeffffffccd1267ce0001e240a4686f737405"
    data = intent_to_bytes(IntentRecord(2, b"\x01" * 16, b"keyring"))
    assert data[:16].hex() == f"{b'SYNCOVA1'.hex()}120100000000001d"
    assert data[16:-32].hex() == f"9302c410{'01' * 16}c407{b'keyring'.hex()}"
    assert parse_intent(data).keyring == b"keyring"
