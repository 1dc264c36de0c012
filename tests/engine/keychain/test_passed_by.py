"""What work leaves that was under way at a rotation: it is no use of an old password, and prunes remove it (3.2)."""

from pathlib import Path

import pytest

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.inventories import InventoryEntry, InventoryRecord, PassingInventoryRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.notes import TombstoneRecord
from repositories.engine.format.records import decode, encode
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.keychain import rotate
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, write
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import keychain
from tests.engine.prune.builders import run as prune
from tests.engine.repositories import PASSWORD, back_up_tree


def counted(storage: MemoryStorage) -> tuple[int, int]:
    """Return how many objects do not count, for no known reason and since a rotation passed their writers by."""
    report = check(open_repository(storage, PASSWORD), CheckRequest(), Hooks())
    assert report.ok
    return report.disowned_objects, report.passed_by_objects


def passed_by(tmp_path: Path) -> tuple[MemoryStorage, Repository, bytes]:
    """Return a repository in which a rotation passed by a backup that was at work; as it was, and the session's id."""
    storage = MemoryStorage()
    old = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    back_up_tree(old, one_file(tmp_path))
    with old.begin_write(SMALL_PACKS) as session:
        (session_id,) = old.store.ids(ObjectKind.SESSION)
        root = write(session, 2)
        rotate(keychain(storage), [PASSWORD])
        with pytest.raises(CommitRefusedError, match="rotated meanwhile"):
            session.commit(root, lambda: None)
    return storage, old, session_id


def one_file(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    return tmp_path / "tree"


def segment(session_id: bytes) -> bytes:
    return encode(SegmentRecord(0, session_id, 1, (), ()))


def test_a_refused_backup_is_no_use_of_an_old_password(tmp_path: Path) -> None:
    storage, _, _ = passed_by(tmp_path)
    disowned, explained = counted(storage)
    assert disowned == 0
    assert explained >= 1


def test_a_prune_removes_what_a_refused_backup_left(tmp_path: Path) -> None:
    storage, old, session_id = passed_by(tmp_path)
    old.store.put(ObjectKind.INDEX, segment(session_id))
    prune(storage)
    assert counted(storage) == (0, sum(name.startswith("tombstones/") for name in storage.objects))
    assert len(open_repository(storage, PASSWORD).backups()) == 1


def test_a_later_rotation_still_knows_the_sessions_of_the_one_before(tmp_path: Path) -> None:
    storage, _, _ = passed_by(tmp_path)
    rotate(keychain(storage), [PASSWORD])
    assert counted(storage)[0] == 0


def test_what_another_session_sealed_with_an_ended_key_stays_an_alarm(tmp_path: Path) -> None:
    """Nor does a prune remove it: somebody may want to look at it."""
    storage, old, _ = passed_by(tmp_path)
    prune(storage)
    strange = old.store.put(ObjectKind.INDEX, segment(b"s" * 16))
    old.store.put(ObjectKind.TOMBSTONE, encode(TombstoneRecord((old.store.ids(ObjectKind.MANIFEST)[0],), 1, "")))
    assert counted(storage)[0] == 2
    prune(storage)
    assert counted(storage)[0] == 2
    assert strange in old.store.ids(ObjectKind.INDEX)


def test_without_anybody_at_work_every_later_object_is_an_alarm(tmp_path: Path) -> None:
    storage = MemoryStorage()
    old = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    back_up_tree(old, one_file(tmp_path))
    rotate(keychain(storage), [PASSWORD])
    old.store.put(ObjectKind.INDEX, segment(b"s" * 16))
    assert counted(storage) == (1, 0)


def test_an_inventory_without_sessions_is_read() -> None:
    """Those that were put before sessions were named, and those of rotations beside which nobody worked."""
    record = InventoryRecord(2, (InventoryEntry(ObjectKind.INDEX, b"i" * 16, b"h" * 32),))
    read = decode(encode(record), PassingInventoryRecord)
    assert (read.entries, read.sessions) == (record.entries, ())
