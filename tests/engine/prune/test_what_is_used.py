"""All that a backup may name is kept: pages, streams, attributes, holes, checkpoints (3.4); how blocks are moved."""

from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.manifest.backups import list_backups
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.prune.keeping import UNFINISHED_LIFE_NS
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.backup.interruptions import broken_off, build_files
from tests.engine.fakes import StandingClock
from tests.engine.prune.builders import (
    SMALL,
    TARGET,
    back_up,
    checked,
    files,
    forget,
    reopened,
    require_backup,
    run,
)
from tests.engine.repositories import back_up_tree, make_repository, restore_latest
from tests.engine.trees import assert_same, build_everything, describe, pattern


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def test_everything_that_a_tree_can_hold(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    build_everything(root)
    (root / "gone").write_bytes(pattern(500_000, 77))
    with repository.begin_write(SMALL) as session:
        first = back_up_tree(repository, root, session=session).manifest_id
    (root / "gone").unlink()
    with repository.begin_write(SMALL) as session:
        back_up_tree(repository, root, session=session)
    forget(repository, first)
    report = run(storage)
    assert report.repacked_packs
    assert checked(storage).unused_packs == 0
    restore_latest(reopened(storage), tmp_path / "restored")
    assert_same(describe(tmp_path / "restored"), describe(root))


def _frames(storage: MemoryStorage) -> dict[bytes, set[bytes]]:
    own = reopened(storage)
    reader = PackReader(own.store)
    found: dict[bytes, set[bytes]] = {}
    for pack in own.reader().index.packs().values():
        for number, block in enumerate(pack.blocks):
            whole = reader.read_whole(BlockPlace(pack.pack_id, pack.header, number, block))
            found.setdefault(pack.pack_id, set()).add(whole.frame)
    return found


def _text(number: int) -> bytes:  # repeats enough to be small, and not so much that its chunks are the same ones
    return b"".join(b"words that compress well %d, %d. " % (number, line // 100) for line in range(50_000))


def test_whole_blocks_are_moved_as_they_are(tmp_path: Path) -> None:
    """Sealed anew under another pack's key; the compressed bytes are the same.

    Where packs end depends on which blocks are sealed by then; tried until a pack holds what stays and what goes.
    """
    large = {f"large {number}": _text(number) for number in range(4)}
    content = large | files(1)
    for attempt in range(8):
        storage, place = MemoryStorage(), tmp_path / f"{attempt}"
        place.mkdir()
        repository = make_repository(storage)
        first = back_up(repository, place / "tree", files(*range(4)) | large)
        second = back_up(repository, place / "tree", content)
        forget(repository, first)
        before = _frames(storage)
        report = prune(reopened(storage), PruneRequest(0.0, pack_target=TARGET), Hooks())
        assert report.repacked_packs
        moved = [frame for pack, those in _frames(storage).items() if pack not in before for frame in those]
        known = {frame for those in before.values() for frame in those}
        assert any(frame not in known for frame in moved), "of the block of small files a part was gathered anew"
        require_backup(reopened(storage), second, content, place / "restored")
        if any(frame in known for frame in moved):
            return
    raise AssertionError("no block was moved whole")


def test_checkpoints_live_until_they_are_old_or_their_source_has_a_backup(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    size = build_files(root)
    broken_off(repository, root, size // 2)
    (checkpoint,) = reopened(storage).checkpoints().counted[-1:]
    before = {name for name in storage.objects if name.startswith("checkpoints/")}
    other = back_up(repository, tmp_path / "other", files(1), name="other")
    forget(repository, back_up(repository, tmp_path / "other", files(1, 2), name="other"))
    assert run(storage).finished
    assert checked(storage).unused_packs > 0, "packs of the checkpoint"
    left = reopened(storage).checkpoints()
    assert (checkpoint.object_id in {each.object_id for each in left.counted}, left.void) == (True, [])
    result = back_up_tree(reopened(storage), root)
    assert result.bytes_read < size, "it went on from the checkpoint"
    assert run(storage).finished
    assert not [name for name in storage.objects if name in before]
    assert checked(storage).unused_packs == 0
    require_backup(reopened(storage), other, files(1), tmp_path / "restored")


def test_a_checkpoint_of_two_weeks_ago_goes(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    size = build_files(tmp_path / "tree")
    broken_off(repository, tmp_path / "tree", size // 2)
    (newest,) = reopened(storage).checkpoints().counted[-1:]
    clock = StandingClock(newest.received_ns + UNFINISHED_LIFE_NS - 10**9)
    prune(reopened(storage), PruneRequest(), Hooks(clock=clock))
    assert [name for name in storage.objects if name.startswith("checkpoints/")]
    clock.time_ns += 2 * 10**9
    prune(reopened(storage), PruneRequest(), Hooks(clock=clock))
    assert not [name for name in storage.objects if name.startswith(("checkpoints/", "packs/"))]
    assert list_backups(reopened(storage)) == []
