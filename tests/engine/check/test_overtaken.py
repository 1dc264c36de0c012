"""Checks beside prunes: what a prune takes away rightly is no loss, also for a check that slept and lost its lease."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.index.catalogue import packs_of
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions.views import read_damage
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.contents import SMALL_PACKS
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository
from tests.engine.trees import pattern


class Sleepy(MemoryStorage):
    """Everything stands still before the n-th thing that is asked of `packs/`, while others go on."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        self.asked = 0
        self.meanwhile: Callable[[], None] | None = None
        self.newest: set[str] = set()

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name.startswith("packs/") and self.meanwhile is not None:
            self.asked += 1
            if self.asked > self.at:
                act, self.meanwhile = self.meanwhile, None
                act()
        return super().get(name, offset, length)


@pytest.fixture
def storage(tmp_path: Path) -> Sleepy:
    """Return a repository of three backups that share no content."""
    storage = Sleepy()
    make_repository(storage)
    (tmp_path / "tree").mkdir()
    for number in range(3):
        (tmp_path / "tree" / "file").write_bytes(pattern(3_000_000, number))
        before = set(storage.objects)
        repository = open_repository(storage, PASSWORD)
        with repository.begin_write(SMALL_PACKS) as session:
            back_up_tree(repository, tmp_path / "tree", session=session)
        storage.newest = {name for name in set(storage.objects) - before if name.startswith("packs/")}
    return storage


def opened(storage: MemoryStorage) -> Repository:
    return open_repository(storage, PASSWORD)


def forget_and_prune(storage: Sleepy) -> None:
    """Delete the oldest backup, and let a prune take everything of it that takes our lease for dead."""
    for name in [name for name in storage.objects if name.startswith("sessions/")]:
        del storage.objects[name]
    oldest = list_backups(opened(storage))[0].id
    forget(opened(storage), plan(opened(storage), ForgetRequest(ids=(oldest,))))
    report = prune(opened(storage), PruneRequest(max_unused=0.0), Hooks())
    assert report.deleted_packs > 0


@pytest.mark.parametrize("at", range(0, 9, 2))
@pytest.mark.parametrize("prunes", [1, 2])
def test_a_check_that_slept_through_prunes_looks_again(storage: Sleepy, at: int, prunes: int) -> None:
    """It would report packs and backups that were deleted on purpose; nothing is remembered as damaged either."""

    def meanwhile() -> None:
        for _ in range(prunes):
            forget_and_prune(storage)

    storage.at, storage.meanwhile = at, meanwhile
    report = check(opened(storage), CheckRequest(read_data=True), Hooks())
    assert storage.meanwhile is None
    assert (report.exit_code, report.problems, report.hurt) == (0, [], [])
    after = run(storage)
    assert (after.ok, after.backups, after.proof.unread_packs) == (True, 3 - prunes, 0)
    there = {bytes.fromhex(name[-32:]) for name in storage.objects if name.startswith("packs/")}
    assert not read_damage(opened(storage).store).keys() & there


def run(storage: MemoryStorage) -> CheckReport:
    return check(opened(storage), CheckRequest(read_data=True), Hooks())


def test_damage_beside_a_prune_is_told_all_the_same(storage: Sleepy) -> None:
    """Looking again hides nothing: a pack that the newest backup alone uses is gone, whatever a prune took besides."""
    newest = list_backups(opened(storage))[-1].id

    def meanwhile() -> None:
        forget_and_prune(storage)
        del storage.objects[max(storage.newest & storage.objects.keys(), key=storage.size)]

    storage.meanwhile = meanwhile
    report = run(storage)
    assert storage.meanwhile is None
    assert (report.exit_code, report.backups) == (13, 2)
    assert [hurt.backup_id for hurt in report.hurt] == [newest]


class Merging(MemoryStorage):
    """Each time the segments are listed, a writer has just merged them again, and removes the older one next time."""

    def __init__(self) -> None:
        super().__init__()
        self.merge: Callable[[], None] | None = None
        self.merges = 0

    def list(self, prefix: str) -> Iterator[StoredObject]:
        if prefix == "index/" and self.merge is not None:
            act, self.merge = self.merge, None
            act()
            self.merges, self.merge = self.merges + 1, act
        return super().list(prefix)


def test_writers_that_merge_faster_than_a_check_reads_hide_no_pack_from_it(tmp_path: Path) -> None:
    """It then went by no segment at all, and said that the index was damaged (3.13)."""
    storage = Merging()
    make_repository(storage)
    (tmp_path / "file").write_bytes(pattern(3_000_000, 1))
    repository = opened(storage)
    back_up_tree(repository, tmp_path)
    writer = opened(storage)
    packs = tuple(packs_of(writer.catalogue.live(lambda *_: True)))
    merged = writer.store.ids(ObjectKind.INDEX)

    def merge() -> None:
        record = SegmentRecord(1, bytes(16), len(merged), (merged[-1],), packs)
        merged.append(writer.store.put(ObjectKind.INDEX, encode(record)))
        if len(merged) > 2:
            writer.store.remove(ObjectKind.INDEX, merged[-3])

    storage.merge = merge
    report = run(storage)
    assert storage.merges > 4
    assert (report.problems, report.packs, report.unreferenced_packs) == ([], len(packs), 0)
