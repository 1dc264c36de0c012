"""A prune beside backups, restores and other prunes: nobody loses anything, nobody has to begin again (3.4, 3.13)."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.collection import MarkRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository, WriteSession
from repositories.engine.sessions.fences import join_ids
from repositories.engine.sessions.views import read_marks
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, chunks_of, commit, write
from tests.engine.prune.builders import (
    SMALL,
    back_up,
    checked,
    files,
    forget,
    hold,
    packs,
    reopened,
    require_backup,
    run,
    write_tree,
)
from tests.engine.prune.meanwhile import Meanwhile
from tests.engine.repositories import back_up_tree, make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def begin_backup(repository: Repository, root: Path) -> tuple[WriteSession, Callable[[], str]]:
    """Begin a session as a backup does; the second value makes the backup and ends the session."""
    session = repository.begin_write(SMALL)

    def finish() -> str:
        with session:
            return back_up_tree(repository, root, session=session).manifest_id

    return session, finish


def test_a_running_backup_commits_though_what_it_refers_to_was_repacked(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    first = back_up(repository, root, files(*range(16)))
    content = files(*range(0, 16, 3))
    second = back_up(repository, root, content)
    forget(repository, first)
    before = packs(repository)
    session = repository.begin_write(SMALL)
    referred = [session.put(ChunkKind.DATA, data)[1] for data in content.values()]
    assert not any(referred), "nothing of it is new"
    with Meanwhile(storage) as beside:
        new = files(*range(0, 16, 3), 99)
        write_tree(root, new)
        with session:
            third = back_up_tree(repository, root, session=session).manifest_id
    assert beside.failure is None
    assert beside.report is not None
    assert beside.report.finished
    assert beside.report.repacked_packs
    assert not before <= packs(repository)
    assert checked(storage).unused_packs == 0
    require_backup(reopened(storage), second, content, tmp_path / "second")
    require_backup(reopened(storage), third, new, tmp_path / "third")


def content_of_large(number: int) -> bytes:
    """Return a chunk that is a block of its own."""
    return chunks_of(number, large=1, small=0)[0]


def test_the_packs_of_a_backup_that_runs_are_spared(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """Those that it has listed, and those that are in no index yet."""
    root = tmp_path / "tree"
    first = back_up(repository, root, files(1))
    back_up(repository, root, files(2))
    forget(repository, first)
    session, finish = begin_backup(repository, root)
    content = files(*range(10, 30)) | {f"large {number}": content_of_large(number) for number in range(4)}
    write_tree(root, content)
    for number, data in enumerate(files(*range(10, 30)).values()):
        session.put(ChunkKind.DATA, data)
        if number == 10:
            session.flush()
    listed = {pack.pack_id.hex() for pack in repository.reader().index.packs().values()}
    for number in range(4):
        session.put(ChunkKind.DATA, content_of_large(number))
    deadline = time.monotonic() + 30
    while {name[-32:] for name in packs(repository)} <= listed and time.monotonic() < deadline:
        time.sleep(0.01)
    with Meanwhile(storage) as beside:
        new = finish()
    assert beside.failure is None
    assert beside.report is not None
    assert beside.report.plan.spared > 0
    require_backup(reopened(storage), new, content, tmp_path / "new")
    run(storage)
    assert checked(storage).unused_packs == 0
    require_backup(reopened(storage), new, content, tmp_path / "again")


def test_a_backup_that_begins_while_packs_are_repacked_is_spared(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    first = back_up(repository, root, files(*range(16)))
    second = back_up(repository, root, files(*range(0, 16, 3)))
    forget(repository, first)
    sessions: list[WriteSession] = []

    def begin(progress: Progress) -> None:
        if progress.phase == "repacking" and not sessions:
            sessions.append(repository.begin_write(SMALL))
            sessions[0].put(ChunkKind.DATA, b"new" * 1000)
            sessions[0].flush()

    content = files(*range(0, 16, 3), 50)
    with Meanwhile(storage, report=begin) as beside:
        write_tree(root, content)
        with sessions[0] as session:
            third = back_up_tree(repository, root, session=session).manifest_id
    assert beside.failure is None
    assert beside.report is not None
    assert beside.report.repacked_packs
    require_backup(reopened(storage), second, files(*range(0, 16, 3)), tmp_path / "second")
    require_backup(reopened(storage), third, content, tmp_path / "third")


def test_what_only_a_deleted_backup_has_is_not_referred_to_after_the_mark(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    gone = files(*range(8))
    first = back_up(repository, root, gone)
    back_up(repository, root, files(20))
    forget(repository, first)
    _, finish = begin_backup(repository, root)
    with Meanwhile(storage) as beside:
        # Begins after the mark: it stores all of it again, and the prune need not wait for it.
        again = back_up(repository, root, gone)
        write_tree(root, files(21))
        other = finish()
    assert beside.failure is None
    require_backup(reopened(storage), again, gone, tmp_path / "again")
    require_backup(reopened(storage), other, files(21), tmp_path / "other")
    assert checked(storage).unused_packs == 0


def test_a_session_that_has_followed_a_mark_refers_to_nothing_marked(repository: Repository) -> None:
    """A checkpoint takes the newest fence; what is met after it must be as if the session had begun then."""
    commit(repository, 1)
    place = repository.reader().locate(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, chunks_of(1)[0]))
    assert place is not None
    with repository.begin_write(SMALL_PACKS) as session:
        repository.store.put(ObjectKind.MARK, encode(MarkRecord(1, bytes(16), 1, join_ids([place.pack]))))
        session.checkpoint(write(session, 2))
        assert session.fence == 1
        chunk_id, is_new = session.put(ChunkKind.DATA, chunks_of(1)[0])
        assert is_new
        session.commit(write(session, 3), lambda: None)
    places = list(repository.reader().index.locations(ChunkKind.DATA, chunk_id))
    assert {each.pack for each in places} > {place.pack}


def test_a_chunk_that_is_nowhere_else_refuses_the_commit(repository: Repository, tmp_path: Path) -> None:
    commit(repository, 1)
    place = repository.reader().locate(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, chunks_of(1)[0]))
    assert place is not None
    with repository.begin_write(SMALL_PACKS) as session:
        write(session, 1)
        repository.store.put(ObjectKind.MARK, encode(MarkRecord(1, bytes(16), 1, join_ids([place.pack]))))
        with pytest.raises(CommitRefusedError, match="a prune marked or removed"):
            session.commit(write(session, 2), lambda: None)


@pytest.mark.parametrize("how", ["hold", "undelete"])
def test_what_is_said_after_the_mark_is_respected(
    repository: Repository, storage: MemoryStorage, tmp_path: Path, how: str
) -> None:
    root = tmp_path / "tree"
    content = files(*range(8))
    first = back_up(repository, root, content)
    back_up(repository, root, files(20))
    grave = forget(repository, first)
    session = repository.begin_read()
    with Meanwhile(storage) as beside:
        assert read_marks(repository.store).waiting
        if how == "hold":
            hold(repository, first)
        else:
            forget(repository, first, undoes=grave)
        session.close()
    assert beside.failure is None
    assert beside.report is not None
    assert beside.report.unmarked_packs > 0
    assert beside.report.removed_backups == 0
    assert checked(storage).unused_packs == 0
    require_backup(reopened(storage), first, content, tmp_path / "first")


def test_a_prune_out_of_time_is_finished_by_the_next_one(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    first = back_up(repository, tmp_path / "tree", files(*range(8)))
    second = back_up(repository, tmp_path / "tree", files(20))
    forget(repository, first)
    before = packs(repository)
    with repository.begin_read():
        report = run(storage, max_seconds=0.0)
        assert (report.finished, len(report.waiting)) == (False, 1)
        assert "reader of process" in report.waiting[0]
        assert packs(repository) == before
    assert run(storage).finished
    assert packs(repository) < before
    require_backup(reopened(storage), second, files(20), tmp_path / "second")
