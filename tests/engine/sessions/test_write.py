"""Write sessions: deduplication, threads, poison, commits, several writers."""

import threading
from collections.abc import Callable

import pytest

from repositories.engine.errors import IntegrityError, LeaseLostError, OperationCancelledError, RepositoryError
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_PAGE, MAX_ROOT
from repositories.engine.packs.blocks import PendingChunk
from repositories.engine.repository import Repository, WriteOptions, WriteSession, open_repository
from repositories.engine.sessions.gather import Gatherer
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS, chunks_of, commit, names, nothing, require_readable, write
from tests.engine.fakes import PASSWORD, RepeatableRandomness


def test_content_is_stored_once(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        first = session.put(ChunkKind.DATA, b"content")
        assert session.has(ChunkKind.DATA, first[0])
        assert session.put(ChunkKind.DATA, bytearray(b"content")) == (first[0], False)
        assert first[1]
        session.commit(b"root", nothing)
        assert session.put(ChunkKind.DATA, b"content") == (first[0], False)
        assert session.new_chunks == 1
    packs = names(repository, "packs/")
    with repository.begin_write(SMALL_PACKS) as session:
        assert session.has(ChunkKind.DATA, first[0])
        assert session.put_many(ChunkKind.DATA, [b"content", memoryview(b"content")]) == [(first[0], False)] * 2
        session.commit(b"root", nothing)
        assert (session.new_chunks, session.stored_bytes) == (0, 0)
    assert names(repository, "packs/") == packs


def test_kinds_do_not_share_chunks(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        ids = {session.put(kind, b"content")[0] for kind in ChunkKind}
        session.commit(b"root", nothing)
    assert len(ids) == 3
    reader = repository.reader()
    for kind in ChunkKind:
        assert reader.read(kind, repository.keyring.chunk_id(kind, b"content")) == b"content"
        located = reader.locate(kind, repository.keyring.chunk_id(kind, b"content"))
        assert located is not None
        other = ChunkKind.DATA if kind is not ChunkKind.DATA else ChunkKind.PAGE
        assert reader.locate(other, repository.keyring.chunk_id(kind, b"content")) is None


def test_a_reused_buffer_does_not_change_what_was_put(repository: Repository) -> None:
    buffer = bytearray(b"first")
    with repository.begin_write(SMALL_PACKS) as session:
        first, _ = session.put(ChunkKind.DATA, memoryview(buffer))
        buffer[:] = b"other"
        session.commit(b"root", nothing)
    assert repository.reader().read(ChunkKind.DATA, first) == b"first"


def test_several_threads_put_at_once(repository: Repository) -> None:
    contents = [chunks_of(seed, large=1) for seed in (1, 1, 2, 3)]
    with repository.begin_write(SMALL_PACKS) as session:
        threads = [
            threading.Thread(target=lambda mine=mine: [session.put(ChunkKind.DATA, each) for each in mine])
            for mine in contents
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.commit(b"root", nothing)
        assert session.new_chunks == 3 * 31
    reader = repository.reader()
    assert len({each for _, each in reader.index.places_in(frozenset(reader.index.packs()))}) == 3 * 31
    for content in (content for mine in contents for content in mine):
        assert reader.read(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, content)) == content


def test_without_commit_nothing_is_visible(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        write(session, 1)
        session.flush()
    assert repository.backups() == []
    assert names(repository, "sessions/") == []
    with repository.begin_write(SMALL_PACKS) as session:
        assert not session.put(ChunkKind.DATA, chunks_of(1)[0])[1], "flushed packs are found again"


@pytest.mark.parametrize("error", [LeaseLostError("lost"), OperationCancelledError("stop"), RepositoryError("gone")])
def test_what_confirm_raises_passes_through_and_nothing_is_committed(repository: Repository, error: Exception) -> None:
    def refuse() -> None:
        assert names(repository, "packs/"), "packs and index are durable before the question"
        assert len(names(repository, "index/")) == 2
        raise error

    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 1)
        with pytest.raises(type(error)):
            session.commit(root, refuse)
        assert repository.backups() == []
        session.commit(root, nothing)
    assert require_readable(repository) == [root]


def test_one_session_commits_several_backups(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        ids = [session.commit(write(session, seed), nothing) for seed in (1, 2, 1)]
    assert [backup.object_id for backup in repository.backups()] == sorted(ids)
    assert len(require_readable(repository)) == 3


def test_checkpoints_are_no_backups(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 1)
        session.checkpoint(root)
        assert repository.backups() == []
        assert [each.root for each in repository.checkpoints().counted] == [root]
    reader = repository.reader()
    assert len(reader.read(ChunkKind.PAGE, root)) == 32 * 32


def test_a_session_of_many_checkpoints_keeps_few_segments(repository: Repository) -> None:
    """A first backup of days puts hundreds: their segments are merged on the way, and stay whole."""
    with repository.begin_write(SMALL_PACKS) as session:
        chunks = [put_with_checkpoint(session, b"file %d" % number) for number in range(80)]
    live = repository.catalogue.live(lambda segment, fence: True)
    assert len(live) <= 34
    reader = open_repository(repository.storage, PASSWORD).reader()
    assert [reader.read(ChunkKind.DATA, chunk) for chunk in chunks] == [b"file %d" % n for n in range(80)]
    assert len(repository.checkpoints().counted) == 80


def put_with_checkpoint(session: WriteSession, content: bytes) -> bytes:
    chunk, _ = session.put(ChunkKind.DATA, content)
    session.checkpoint(b"root")
    return chunk


def test_a_closed_session_takes_nothing(repository: Repository) -> None:
    session = repository.begin_write(SMALL_PACKS)
    session.close()
    session.close()
    for act in (lambda: session.put(ChunkKind.DATA, b"x"), lambda: session.commit(b"root", nothing)):
        with pytest.raises(RepositoryError, match="closed"):
            act()
    assert repository.backups() == []


def test_limits_are_checked(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        with pytest.raises(RepositoryError, match="limit"):
            session.commit(bytes(MAX_ROOT + 1), nothing)
        with pytest.raises(ValueError, match="limit"):
            session.put(ChunkKind.PAGE, bytes(MAX_PAGE + 1))
        session.put(ChunkKind.PAGE, bytes(MAX_PAGE))
        session.commit(bytes(MAX_ROOT), nothing)


def test_a_failed_seal_poisons_for_good(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise IntegrityError("bad memory")

    with repository.begin_write(SMALL_PACKS) as session:
        with monkeypatch.context() as patched:
            patched.setattr("repositories.engine.packs.pipeline.prove_block", broken)
            root = write(session, 1, chunks_of(1)[2:])
            with pytest.raises(IntegrityError):
                session.flush()
        acts: list[Callable[[], object]] = [
            lambda: session.put(ChunkKind.DATA, b"more"),
            session.flush,
            lambda: session.commit(root, nothing),
            lambda: session.checkpoint(root),
        ]
        for act in acts:
            with pytest.raises(IntegrityError, match="bad memory"):
                act()
    assert repository.backups() == []


def test_a_damaged_chunk_is_stored_again_and_read_from_its_new_place(repository: Repository) -> None:
    """What heals: a chunk that a damage record names is absent for deduplication."""
    commit(repository, 1)
    content = chunks_of(1)[3]
    chunk_id = repository.keyring.chunk_id(ChunkKind.DATA, content)
    place = repository.reader().locate(ChunkKind.DATA, chunk_id)
    assert place is not None
    storage = repository.storage
    assert isinstance(storage, MemoryStorage)
    name = f"packs/{place.pack.hex()[:2]}/{place.pack.hex()}"
    start = place.place.record.offset + 40
    storage.objects[name] = storage.objects[name][:start] + b"\0\0\0\0" + storage.objects[name][start + 4 :]
    with pytest.raises(IntegrityError):
        repository.reader().read(ChunkKind.DATA, chunk_id)
    repository.store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, place.pack, chunk_id, "test")))
    with repository.begin_write(SMALL_PACKS) as session:
        assert not session.has(ChunkKind.DATA, chunk_id)
        assert session.put(ChunkKind.DATA, content) == (chunk_id, True)
        neighbour = repository.keyring.chunk_id(ChunkKind.DATA, chunks_of(1)[4])
        assert session.has(ChunkKind.DATA, neighbour)
        session.commit(b"root", nothing)
    assert repository.reader().read(ChunkKind.DATA, chunk_id) == content


def test_a_wholly_damaged_pack_counts_for_nothing(repository: Repository) -> None:
    commit(repository, 1)
    reader = repository.reader()
    content = chunks_of(1)[0]
    place = reader.locate(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, content))
    assert place is not None
    for chunks in (b"c" * 32, b"", b"d" * 32):
        repository.store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, place.pack, chunks, "test")))
    with repository.begin_write(SMALL_PACKS) as session:
        assert session.put(ChunkKind.DATA, content)[1]
    assert repository.reader().read(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, content)) == content


def test_two_writers_at_once(repository: Repository) -> None:
    """Guarantee 5: any number of writers; what both store is stored twice at worst."""
    other = open_repository(repository.storage, PASSWORD)
    barrier = threading.Barrier(2)

    def back_up(mine: Repository, seeds: tuple[int, ...]) -> None:
        for seed in seeds:
            with mine.begin_write(SMALL_PACKS) as session:
                barrier.wait(30)
                root = write(session, seed)
                barrier.wait(30)
                session.commit(root, nothing)

    threads = [
        threading.Thread(target=back_up, args=(repository, (1, 2, 3))),
        threading.Thread(target=back_up, args=(other, (1, 3, 2))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for mine in (repository, other):
        assert len(require_readable(mine)) == 6


def test_many_commits_keep_few_live_segments(repository: Repository) -> None:
    """At most 64 live; nothing is lost by merging."""
    tiny = WriteOptions(workers=1)
    for number in range(70):
        with repository.begin_write(tiny) as session:
            page, _ = session.put(ChunkKind.PAGE, session.put(ChunkKind.DATA, b"%d" % number)[0])
            session.commit(page, nothing)
    fresh = open_repository(repository.storage, PASSWORD)
    live = fresh.catalogue.live(lambda _segment, _fence: True)
    assert 1 <= len(live) <= 34
    assert len(fresh.store.ids(ObjectKind.INDEX)) > 70
    assert len(require_readable(fresh)) == 70


def test_blocks_have_random_targets_and_large_chunks_go_alone() -> None:
    gatherer = Gatherer(RepeatableRandomness())
    sizes = []
    large = PendingChunk(ChunkKind.DATA, b"l" * 32, bytes(1 << 20))
    for number in range(200):
        block = gatherer.add(PendingChunk(ChunkKind.DATA, bytes(32), bytes(100_000)))
        if number == 5:
            assert gatherer.add(large) == ([large], 1 << 20)
        if block is not None:
            sizes.append(block[1])
    assert all(1 << 20 <= size <= (2 << 20) + 100_000 for size in sizes)
    assert len(set(sizes)) > 3
