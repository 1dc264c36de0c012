"""Who looks past a lost sweep takes no fence by that and writes nothing (3.2, 3.8)."""

from pathlib import Path

import pytest

from repositories.engine.format.collection import SweepRecord
from repositories.engine.format.kinds import COPIES, ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.process.what_is_left import is_past_sweeps, look_past_sweeps
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions.fences import FenceLostError
from repositories.engine.sessions.views import read_marks, read_newest_sweep, read_swept_packs
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository


@pytest.fixture
def hurt(tmp_path: Path) -> Repository:
    """Return a repository with a backup that its only sweep, lost by now, did not accept."""
    storage = MemoryStorage()
    repository = make_repository(storage)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    back_up_tree(repository, tmp_path / "tree")
    sweep_id = repository.store.put(ObjectKind.SWEEP, encode(SweepRecord(7, bytes(16), 1, b"", b"", b"", bytes(16))))
    assert open_repository(storage, PASSWORD).backups() == []
    name = object_name(ObjectKind.SWEEP, sweep_id)
    for copy in ("", COPIES):
        whole = storage.objects[copy + name]
        storage.objects[copy + name] = whole[:-1] + bytes([whole[-1] ^ 1])
    return open_repository(storage, PASSWORD)


def test_without_that_nothing_goes_on(hurt: Repository) -> None:
    for look in (read_newest_sweep, read_swept_packs, read_marks):
        with pytest.raises(FenceLostError, match="no copy can be read of sweeps/"):
            look(hurt.store)
    with pytest.raises(FenceLostError):
        hurt.begin_write()
    assert not is_past_sweeps(hurt)


def test_all_whole_backups_are_shown_and_warned_of_once(hurt: Repository) -> None:
    told: list[str] = []
    met: list[bool] = []
    hurt.warn = told.append
    look_past_sweeps(hurt, lambda: met.append(True))
    assert not is_past_sweeps(hurt)  # as long as nothing was looked at
    assert [len(hurt.backups()) for _ in range(2)] == [1, 1]
    assert (len(told), met, is_past_sweeps(hurt)) == (1, [True], True)


def test_no_fence_is_taken_and_nothing_written(hurt: Repository) -> None:
    """A prune waits for such a reader, as for one that cannot read the marks."""
    look_past_sweeps(hurt)
    with pytest.raises(FenceLostError):
        read_marks(hurt.store)
    with hurt.begin_read() as session:
        assert session.fence == 0
        assert read_swept_packs(hurt.store) == frozenset()
    with pytest.raises(FenceLostError, match="no copy can be read of sweeps/"):
        hurt.begin_write()


def test_what_was_found_first_against_writing_stays(hurt: Repository) -> None:
    found = FenceLostError("something else", hint="see there")
    hurt.refuse_writing = found
    look_past_sweeps(hurt)
    hurt.backups()
    assert hurt.refuse_writing is found
