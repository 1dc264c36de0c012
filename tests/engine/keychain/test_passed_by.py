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
from repositories.engine.keychain import add_password, rotate
from repositories.engine.process.requests import RepositoryAccess
from repositories.engine.process.taking_back import taking_back
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.sessions.passed_by import take_back_leavings
from repositories.engine.storage.base import Storage
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, require_readable, write
from tests.engine.fakes import CHEAP
from tests.engine.keychain.chains import OTHER, keychain
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


def segments(storage: Storage) -> set[str]:
    return {stored.name for stored in storage.list("index/")}


def test_a_refused_session_takes_back_what_the_rotation_has_not_listed(tmp_path: Path) -> None:
    """Of its own alone: what it had put in time counts, and others may go by it already."""
    storage, old, session_id = passed_by(tmp_path)
    late = old.store.put(ObjectKind.INDEX, segment(session_id))
    strange = old.store.put(ObjectKind.INDEX, segment(b"s" * 16))
    store = open_repository(storage, PASSWORD).store
    listed = {object_id for kind, object_id in store.inventory if kind == ObjectKind.INDEX}
    assert take_back_leavings(store, session_id) >= 1
    assert set(store.ids(ObjectKind.INDEX)) == listed | {strange}
    assert late not in store.ids(ObjectKind.INDEX)
    assert take_back_leavings(store, session_id) == 0


def test_what_a_session_had_put_before_the_rotation_stays(tmp_path: Path) -> None:
    """A later backup finds those contents there, and needs the segment that the refused one had put."""
    storage = MemoryStorage()
    old = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    with old.begin_write(SMALL_PACKS) as session:
        (session_id,) = old.store.ids(ObjectKind.SESSION)
        root = write(session, 2)
        session.flush()
        before = segments(storage)
        rotate(keychain(storage), [PASSWORD])
        with pytest.raises(CommitRefusedError):
            session.commit(root, lambda: None)
        newer = open_repository(storage, PASSWORD)
        take_back_leavings(newer.store, session_id)
    assert before <= segments(storage)
    with newer.begin_write(SMALL_PACKS) as session:
        session.commit(write(session, 2), lambda: None)
        assert session.new_chunks == 0
    require_readable(open_repository(storage, PASSWORD))


@pytest.mark.parametrize("ended", [False, True])
def test_a_backup_that_is_refused_takes_back_and_is_told_as_refused(tmp_path: Path, ended: bool) -> None:
    """Where its password has ended it cannot know what was listed, and leaves all to a prune."""
    storage = LocalStorage(str(tmp_path / "repository"))
    create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10))
    add_password(keychain(storage), OTHER, "other")
    old = open_repository(storage, PASSWORD)
    before = segments(storage)
    access = RepositoryAccess(location=str(tmp_path / "repository"), password=PASSWORD.decode())
    with old.begin_write(SMALL_PACKS) as session:
        root = write(session, 2)
        rotate(keychain(storage, OTHER), [OTHER] if ended else [PASSWORD])
        with pytest.raises(CommitRefusedError, match="rotated meanwhile"), taking_back(access, session):
            session.commit(root, lambda: None)
    assert (segments(storage) == before) is not ended


def test_a_refusal_for_another_reason_takes_nothing_back(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path / "repository"))
    repository = create_repository(storage, CreateOptions(PASSWORD, kdf=CHEAP, reserve_bytes=10)).repository
    access = RepositoryAccess(location=str(tmp_path / "repository"), password=PASSWORD.decode())
    with repository.begin_write(SMALL_PACKS) as session:
        write(session, 2)
        session.flush()
        before = segments(storage)
        with pytest.raises(CommitRefusedError), taking_back(access, session):
            raise CommitRefusedError("a prune took what it refers to")
    assert segments(storage) == before
