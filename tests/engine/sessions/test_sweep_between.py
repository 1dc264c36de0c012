"""A sweep that comes while a writer lists the index: what it makes void is nothing that the writer may refer to (3.8).

The last of the holes that the state model has shown (docs/repository-format.md, section 10), with the real writer.
"""

import pytest

from repositories.engine.errors import CommitRefusedError
from repositories.engine.format.collection import MarkRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.repository import Repository, open_repository
from tests.engine.awaking import Awaking, prepare_sweep, put_loose
from tests.engine.contents import commit, nothing, require_readable
from tests.engine.repositories import PASSWORD, make_repository

LOOSE = b"what no backup uses"


@pytest.fixture
def storage() -> Awaking:
    """Return a medium with a backup, and a segment of a writer that a prune is about to pass by."""
    storage = Awaking()
    repository = make_repository(storage)
    commit(repository, 1)
    return storage


def begin_sweep(storage: Awaking, repository: Repository, void: bytes, packs: bytes = b"") -> None:
    """Put the mark of a prune that has listed all but one segment; its sweep comes when the index is listed next."""
    repository.store.put(ObjectKind.MARK, encode(MarkRecord(1, bytes(16), 1, packs)))
    prepare_sweep(storage, repository.store, 1, void, packs)


def test_a_writer_that_begins_stores_again_what_a_void_segment_lists(storage: Awaking) -> None:
    repository = open_repository(storage, PASSWORD)
    begin_sweep(storage, repository, put_loose(repository))
    writer = open_repository(storage, PASSWORD)
    with writer.begin_write() as session:
        assert storage.awoke
        assert session.fence == 1, "the mark was seen: no commit looks at the index again"
        chunk, new = session.put(ChunkKind.DATA, LOOSE)
        assert new
        page, _ = session.put(ChunkKind.PAGE, chunk)
        session.commit(page, nothing)
    assert len(require_readable(open_repository(storage, PASSWORD))) == 2


def test_a_commit_finds_nothing_again_that_a_void_segment_alone_lists(storage: Awaking) -> None:
    """The prune takes the pack that is referred to, and has not seen that another writer stored the same meanwhile."""
    repository = open_repository(storage, PASSWORD)
    late = open_repository(storage, PASSWORD).begin_write()
    put_loose(repository)
    doomed = repository.reader().locate(ChunkKind.DATA, repository.keyring.chunk_id(ChunkKind.DATA, LOOSE))
    assert doomed is not None
    with open_repository(storage, PASSWORD).begin_write() as session:
        chunk, new = session.put(ChunkKind.DATA, LOOSE)
        assert not new
        page, _ = session.put(ChunkKind.PAGE, chunk)
        session.flush()
        known = set(repository.store.ids(ObjectKind.INDEX))
        assert late.put(ChunkKind.DATA, LOOSE)[1]
        late.flush()
        (void,) = set(repository.store.ids(ObjectKind.INDEX)) - known
        begin_sweep(storage, repository, void, doomed.pack)
        with pytest.raises(CommitRefusedError):
            session.commit(page, nothing)
        assert storage.awoke
    late.close()
    assert len(require_readable(open_repository(storage, PASSWORD))) == 1
