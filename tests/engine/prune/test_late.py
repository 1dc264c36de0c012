"""What comes late: deletions of what was put after the mark, and a second prune that wakes up beside this one.

The holes that the state model has shown (tests/engine/model/), closed in the real prune.
"""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.forgetting import undelete
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode, encode
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import join_ids, split_ids
from repositories.engine.sessions.views import read_marks, read_newest_sweep
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import back_up, checked, files, forget, reopened, require_backup, run
from tests.engine.prune.meanwhile import Meanwhile
from tests.engine.prune.test_places import data_packs, name, store_again
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def test_a_backup_that_was_put_after_the_mark_and_deleted_is_left_to_the_next_prune(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """It counts whatever the sweep names: who brings it back while the prune deletes is told that it is back."""
    first = back_up(repository, tmp_path / "tree", files(1, 2))
    back_up(repository, tmp_path / "tree", files(2, 3))
    forget(repository, first)
    reading = repository.begin_read()
    with Meanwhile(storage) as beside:
        late = back_up(reopened(storage), tmp_path / "tree", files(3, 4))
        forget(repository, late)
        reading.close()
    assert beside.failure is None
    assert beside.report is not None
    assert beside.report.removed_backups == 1
    result = undelete(reopened(storage), [late])
    assert [each.manifest_id for each in result.back] == [late]
    assert not result.uncertain
    require_backup(reopened(storage), late, files(3, 4), tmp_path / "late")
    forget(repository, late)
    assert run(storage).removed_backups == 1
    assert checked(storage).unused_packs == 0


def test_of_two_prunes_none_keeps_what_the_other_one_deletes(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """Contents lie in two packs. Another prune wakes up while this one plans, and takes what this one keeps."""
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    second = store_again(repository, content)
    doomed = next(pack for pack in data_packs(repository) if pack.pack_id != second.pack_id)
    planned = run(storage, dry_run=True).plan.delete
    if [each.pack_id for each in planned] == [doomed.pack_id]:
        doomed = second

    def other_prune(progress: Progress) -> None:
        if progress.phase == "planning" and read_marks(repository.store).highest == 0:
            put_other_sweep(repository, doomed.pack_id)

    report = run(storage, Hooks(report=other_prune))
    assert report.finished
    assert report.sweep == 2
    assert doomed.pack_id in swept_packs(repository)
    # The other one wakes up and deletes.
    storage.objects.pop(name(doomed), None)
    require_backup(reopened(storage), backup, content, tmp_path / "restored")
    run(storage)
    assert checked(storage).unused_packs == 0


def put_other_sweep(repository: Repository, pack_id: bytes) -> None:
    """Put mark and sweep of another prune, which takes one pack and has deleted nothing yet."""
    store, session_id = repository.store, repository.store.new_id()
    store.put(ObjectKind.MARK, encode(MarkRecord(1, session_id, 1, pack_id)))
    manifests, segments = frozenset(store.ids(ObjectKind.MANIFEST)), frozenset(store.ids(ObjectKind.INDEX))
    sweep = SweepRecord(1, session_id, 1, join_ids(manifests), b"", join_ids(segments), pack_id)
    store.put(ObjectKind.SWEEP, encode(sweep))


def swept_packs(repository: Repository) -> frozenset[bytes]:
    """Return what the newest sweep names."""
    number = read_newest_sweep(repository.store).number
    sweeps = [
        decode(repository.store.read(ObjectKind.SWEEP, each), SweepRecord)
        for each in repository.store.ids(ObjectKind.SWEEP)
    ]
    return split_ids(next(each.packs for each in sweeps if each.number == number))
