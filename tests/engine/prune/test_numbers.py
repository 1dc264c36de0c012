"""The number of a mark that the medium lost is not used again: whoever saw it would not notice the next one (3.8)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.collection import LeaseRecord, MarkRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import decode, encode
from repositories.engine.ids import ChunkKind
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.prune.numbers import STRIDE, highest_told
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.awaking import put_loose
from tests.engine.prune.builders import back_up, checked, files, reopened, require_backup, run
from tests.engine.prune.meanwhile import Meanwhile
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    """Return a repository with a pack that a prune takes."""
    repository = make_repository(storage)
    put_loose(repository)
    return repository


def put_mark(repository: Repository, number: int) -> str:
    """Put the mark of a prune that died; return its name."""
    mark = encode(MarkRecord(number, bytes(16), 1, b""))
    return object_name(ObjectKind.MARK, repository.store.put(ObjectKind.MARK, mark))


def told_by_a_manifest(repository: Repository, root: Path) -> None:
    back_up(repository, root, files(1))


def told_by_a_segment(repository: Repository, _: Path) -> None:
    with repository.begin_write() as session:
        session.put(ChunkKind.DATA, b"something else")
        session.flush()


def told_by_a_checkpoint(repository: Repository, _: Path) -> None:
    with repository.begin_write() as session:
        session.checkpoint(b"root", breaks_off=True)


@pytest.mark.parametrize("tell", [told_by_a_manifest, told_by_a_segment, told_by_a_checkpoint])
def test_a_fence_tells_of_a_mark_that_is_lost(
    repository: Repository, storage: MemoryStorage, tmp_path: Path, tell: Callable[[Repository, Path], None]
) -> None:
    # All that the next backup needs is there: its manifest alone gets the fence.
    back_up(repository, tmp_path / "tree", files(1))
    lost = put_mark(repository, 5)
    tell(repository, tmp_path / "tree")
    del storage.objects[lost]
    assert run(storage).sweep == 6


def test_a_session_that_lives_tells_of_it_and_notices_the_next_mark(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    content = files(1)
    kept = back_up(repository, tmp_path / "tree", content)
    lost = put_mark(repository, 1)
    writer = repository.begin_write()
    (lease,) = repository.store.read_all(ObjectKind.SESSION).values()
    assert decode(lease, LeaseRecord).fence == writer.fence == 1, "told at once, since no sweep has followed"
    assert writer.has(ChunkKind.DATA, writer.chunk_id(ChunkKind.DATA, b"what no backup uses"))
    del storage.objects[lost]
    with Meanwhile(storage) as beside:
        with pytest.raises(CommitRefusedError):
            writer.commit(b"root", lambda: None)
        writer.close()
    assert beside.report is not None
    assert beside.report.sweep == 2
    require_backup(reopened(storage), kept, content, tmp_path / "out")
    assert checked(storage).unused_packs == 0


def test_the_memory_of_earlier_looks_tells_of_it(repository: Repository) -> None:
    repository.fence_seen = 7
    assert prune(repository, PruneRequest(max_unused=0.0), Hooks()).sweep == 8


def test_what_lies_aside_tells_of_a_repairs_mark_that_is_lost() -> None:
    storage = MemoryStorage()
    assert highest_told(storage, (3,)) == 3
    for name in ("20260101t000000z/marks/11", "sweeps/22", "20260101t000000z/copies/sweeps/22", "manifests/33"):
        storage.objects[f"aside/{name}"] = b""
    # The repair's was at most 3 + 4 strides.
    assert highest_told(storage, (3,)) == 3 + 5 * STRIDE
    assert highest_told(storage, (3, 3 * STRIDE + 2)) == 3 * STRIDE + 2
