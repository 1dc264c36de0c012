"""Fences: marks and sweeps decide what counts, without any clock (engine.md, section 5)."""

import subprocess
import sys

import pytest

from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.commits import CheckpointRecord, ManifestRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import MarksView, SweepView, join_ids, split_ids
from repositories.engine.sessions.holder import Holder, is_surely_dead, process_start, this_process
from repositories.engine.sessions.views import read_marks, read_newest_sweep
from tests.engine.contents import SMALL_PACKS, chunks_of, commit, require_readable, write


def nothing() -> None:
    """Confirm."""


def mark(repository: Repository, number: int, *packs: bytes) -> None:
    repository.store.put(ObjectKind.MARK, encode(MarkRecord(number, bytes(16), 1, join_ids(packs))))


def sweep(repository: Repository, number: int, manifests: list[str], packs: tuple[bytes, ...] = ()) -> bytes:
    named = join_ids([bytes.fromhex(each) for each in manifests])
    segments = join_ids(repository.store.ids(ObjectKind.INDEX))
    record = SweepRecord(number, bytes(16), 1, named, b"", segments, join_ids(packs))
    return repository.store.put(ObjectKind.SWEEP, encode(record))


def pack_of(repository: Repository, seed: int) -> bytes:
    place = repository.reader().locate(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, chunks_of(seed)[0]))
    assert place is not None
    return place.pack


def test_the_rule_is_the_documented_one() -> None:
    view = SweepView(5, frozenset({b"a"}), frozenset({b"c"}), frozenset({b"s"}))
    assert [view.accepts_manifest(b"m", fence) for fence in (4, 5, 6)] == [False, True, True]
    assert view.accepts_manifest(b"a", 0)
    assert view.accepts_segment(b"s", 0)
    assert not view.accepts_segment(b"a", 4)
    assert [view.accepts_checkpoint(each, 4) for each in (b"c", b"a")] == [True, False]
    assert SweepView().accepts_manifest(b"m", 0)


def test_joined_ids_are_sorted_and_split_again() -> None:
    ids = [bytes([number]) * 16 for number in (3, 1, 2)]
    assert join_ids(ids) == b"\1" * 16 + b"\2" * 16 + b"\3" * 16
    assert split_ids(join_ids(ids)) == frozenset(ids)
    assert split_ids(b"") == frozenset()


def test_the_fence_is_the_highest_mark_or_sweep(repository: Repository) -> None:
    assert read_marks(repository.store) == MarksView(0, frozenset())
    mark(repository, 3, b"p" * 16)
    mark(repository, 2, b"q" * 16)
    assert read_marks(repository.store) == MarksView(3, frozenset({b"p" * 16, b"q" * 16}), waiting=True)
    sweep(repository, 3, [], (b"p" * 16,))
    assert read_marks(repository.store) == MarksView(3, frozenset({b"p" * 16})), "what a sweep un-marked is free"
    mark(repository, 4, b"r" * 16)
    assert read_marks(repository.store) == MarksView(4, frozenset({b"p" * 16, b"r" * 16}), waiting=True)
    assert read_newest_sweep(repository.store).number == 3


def test_packs_in_marks_are_absent_for_deduplication(repository: Repository) -> None:
    commit(repository, 1)
    mark(repository, 1, pack_of(repository, 1))
    with repository.begin_write(SMALL_PACKS) as session:
        assert session.fence == 1
        assert session.put(ChunkKind.DATA, chunks_of(1)[0])[1]
        session.commit(write(session, 1), nothing)
    assert len(require_readable(repository)) == 2, "readers still find what lies in marked packs"


def test_a_commit_takes_the_newest_fence(repository: Repository) -> None:
    """A mark that takes nothing of ours: commit goes on with the new fence, and so do our segments."""
    commit(repository, 1)
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 2)
        session.flush()
        mark(repository, 1, b"x" * 16)
        session.commit(root, nothing)
        assert session.fence == 1
    sweep(repository, 1, [repository.backups()[0].object_id])
    for segment_id in repository.store.ids(ObjectKind.INDEX):
        if repository.catalogue._segments[segment_id].fence == 0:
            repository.store.remove(ObjectKind.INDEX, segment_id)
    roots = [backup.root for backup in repository.backups()]
    assert root in roots
    assert repository.reader().read(ChunkKind.PAGE, root)


@pytest.mark.parametrize("how", ["marked", "gone"])
@pytest.mark.parametrize("whose", ["own", "referenced"])
def test_a_commit_that_refers_to_what_a_prune_took_is_refused(repository: Repository, how: str, whose: str) -> None:
    """No sleeping machine can make a committed backup lose a pack."""
    commit(repository, 1)
    taken = pack_of(repository, 1)
    with repository.begin_write(SMALL_PACKS) as session:
        if whose == "referenced":
            assert session.has(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, chunks_of(1)[0]))
        root = write(session, 2)
        session.flush()
        if whose == "own":
            taken = pack_of(repository, 2)
        if how == "gone":
            repository.storage.delete(object_name(ObjectKind.PACK, taken))
        mark(repository, 1, *([taken] if how == "marked" else []))
        with pytest.raises(CommitRefusedError):
            session.commit(root, nothing)
    assert len(repository.backups()) == 1


def test_a_commit_during_a_prune_is_done_again(repository: Repository) -> None:
    """A mark between the last look and the manifest: the manifest is taken back and put with the new fence."""
    kept = commit(repository, 1)
    asked: list[int] = []
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 2)

        def prune_passes_by() -> None:
            asked.append(session.fence)
            if len(asked) == 1:
                mark(repository, 1)
                sweep(repository, 1, [kept])

        made = session.commit(root, prune_passes_by)
    assert asked == [0, 1], "the lease is confirmed again"
    assert [backup.object_id for backup in repository.backups()] == [kept, made]
    assert repository.backups()[1].fence == 1
    assert len(repository.store.ids(ObjectKind.MANIFEST)) == 2
    assert len(require_readable(repository)) == 2


def test_a_commit_that_never_settles_is_refused(repository: Repository) -> None:
    kept = commit(repository, 1)
    numbers = iter(range(1, 99))
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 2)
        with pytest.raises(CommitRefusedError):
            session.commit(root, lambda: mark(repository, next(numbers)))
    assert [backup.object_id for backup in repository.backups()] == [kept]


def test_a_manifest_that_a_sweep_did_not_know_is_void(repository: Repository) -> None:
    """The woken zombie is harmless: what it puts is not listed."""
    kept = commit(repository, 1)
    mark(repository, 1)
    sweep(repository, 1, [kept])
    zombie = ManifestRecord(0, 1, 1, bytes(16), b"zombie")
    repository.store.put(ObjectKind.MANIFEST, encode(zombie))
    repository.store.put(ObjectKind.CHECKPOINT, encode(CheckpointRecord(0, 1, 1, bytes(16), b"zombie")))
    assert [backup.object_id for backup in repository.backups()] == [kept]
    assert repository.checkpoints().counted == []


def test_segments_that_a_sweep_did_not_know_bring_no_packs_back(repository: Repository) -> None:
    """A writer that slept through a prune indexes packs that are gone: nobody deduplicates against them."""
    with repository.begin_write(SMALL_PACKS) as zombie:
        write(zombie, 1)
        mark(repository, 1)
        sweep(repository, 1, [])
        zombie.flush()
        with repository.begin_write(SMALL_PACKS) as session:
            assert session.put(ChunkKind.DATA, chunks_of(1)[0])[1]
            session.commit(write(session, 1), nothing)
    assert len(require_readable(repository)) == 1


def test_a_rotation_meanwhile_refuses_the_commit(repository: Repository) -> None:
    with repository.begin_write(SMALL_PACKS) as session:
        root = write(session, 1)
        repository.storage.put(f"keyrings/00000002/{'ab' * 16}", b"a newer generation")
        with pytest.raises(CommitRefusedError):
            session.commit(root, nothing)


def test_reading_keeps_a_lease_and_looks_at_the_marks(repository: Repository) -> None:
    mark(repository, 7)
    with repository.begin_read() as session:
        assert session.fence == 7
        assert len(repository.store.ids(ObjectKind.SESSION)) == 1
    assert repository.store.ids(ObjectKind.SESSION) == []
    session.close()


def test_the_dead_are_known_only_in_our_own_boot_and_namespace() -> None:
    """Containers of one host share the boot id: the pid namespace is part of the answer."""
    me = this_process()
    assert me.pid > 0
    assert me.process_start == process_start(me.pid)
    assert not is_surely_dead(me, me)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    other = Holder(me.boot_id, me.pid_namespace, child.pid, process_start(child.pid) or 0, "host")
    assert not is_surely_dead(other, me)
    child.communicate(b"\n")
    assert is_surely_dead(other, me)
    assert is_surely_dead(Holder(me.boot_id, me.pid_namespace, me.pid, me.process_start + 1, ""), me), "a reused pid"
    for unsure in (
        Holder(b"another boot    ", me.pid_namespace, other.pid, other.process_start, ""),
        Holder(me.boot_id, me.pid_namespace + 1, other.pid, other.process_start, ""),
        Holder(me.boot_id, me.pid_namespace, other.pid, 0, ""),
        Holder(b"", 0, other.pid, other.process_start, ""),
    ):
        assert not is_surely_dead(unsure, me)
