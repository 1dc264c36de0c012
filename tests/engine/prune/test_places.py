"""Places are counted, not ids: chunks that lie twice in one pack or in several (3.4)."""

from pathlib import Path

import pytest

from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.format.verification import DamageRecord
from repositories.engine.ids import ChunkKind
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.packs.blocks import BlockStyle, PendingChunk
from repositories.engine.packs.directory import PackClass, PackRecord
from repositories.engine.packs.pipeline import BlockPipeline, PipelineSettings
from repositories.engine.repository import Repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.prune.builders import Tree, back_up, checked, files, forget, require_backup, run
from tests.engine.repositories import make_repository


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def repository(storage: MemoryStorage) -> Repository:
    return make_repository(storage)


def store_again(repository: Repository, content: Tree, *, times: int = 1) -> PackRecord:
    """Store chunks that are there already in a pack of their own, each `times` times in it."""
    made: list[PackRecord] = []
    pipeline = BlockPipeline(repository.store, PipelineSettings(BlockStyle(3, padding=False)), made.append)
    identify = repository.keyring.chunk_id
    chunks = [PendingChunk(ChunkKind.DATA, identify(ChunkKind.DATA, data), data) for data in content.values()]
    for _ in range(times):
        pipeline.submit(PackClass.DATA, chunks * times, sum(map(len, content.values())) * times)
    pipeline.drain()
    pipeline.close()
    repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(0, bytes(16), 0, (), tuple(made))))
    return made[0]


def data_packs(repository: Repository) -> list[PackRecord]:
    return [pack for pack in repository.reader().index.packs().values() if pack.pack_class == PackClass.DATA]


def name(pack: PackRecord) -> str:
    return f"packs/{pack.pack_id.hex()[:2]}/{pack.pack_id.hex()}"


def test_of_a_pack_that_lies_there_twice_one_goes(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    store_again(repository, content)
    run(storage)
    assert len(data_packs(repository)) == 1
    assert checked(storage).unused_packs == 0
    require_backup(repository, backup, content, tmp_path / "restored")


def test_chunks_that_lie_several_times_in_one_pack_are_needed_once(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    (original,) = data_packs(repository)
    store_again(repository, content, times=3)
    run(storage)
    (left,) = data_packs(repository)
    assert left.length <= original.length
    require_backup(repository, backup, content, tmp_path / "restored")
    del storage.objects[name(left)]
    with pytest.raises(AssertionError):
        checked(storage)


def test_a_pack_whose_chunks_are_all_elsewhere_is_spread_over_two(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """Three packs hold 1,2 and 2,3 and 3,1: whatever goes, each chunk is left once."""
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    (original,) = data_packs(repository)
    names = list(content)
    for pair in ((0, 1), (1, 2), (2, 0)):
        store_again(repository, {names[at]: content[names[at]] for at in pair})
    del storage.objects[name(original)]
    run(storage)
    checked(storage)
    require_backup(repository, backup, content, tmp_path / "restored")


def test_a_damaged_place_is_given_up_for_a_good_one_and_never_the_last(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    (original,) = data_packs(repository)
    repository.store.put(ObjectKind.DAMAGE, encode(DamageRecord(1, original.pack_id, b"", "test")))
    run(storage)
    assert [pack.pack_id for pack in data_packs(repository)] == [original.pack_id]
    spare = store_again(repository, content)
    run(storage)
    assert [pack.pack_id for pack in data_packs(repository)] == [spare.pack_id]
    assert not [each for each in storage.objects if each.startswith("damage/")]
    require_backup(repository, backup, content, tmp_path / "restored")


def test_a_pack_that_is_missing_is_forgotten_if_its_content_lies_elsewhere(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    content = files(1, 2, 3)
    backup = back_up(repository, tmp_path / "tree", content)
    (original,) = data_packs(repository)
    del storage.objects[name(original)]
    run(storage)
    assert len(data_packs(repository)) == 1, "the only place that is known stays listed: check must go on telling"
    store_again(repository, content)
    run(storage)
    assert original.pack_id not in {pack.pack_id for pack in data_packs(repository)}
    assert checked(storage).replaced_packs == 0
    require_backup(repository, backup, content, tmp_path / "restored")


def test_packs_in_no_index_stay_while_chunks_are_missing(
    repository: Repository, storage: MemoryStorage, tmp_path: Path
) -> None:
    """An index that lost segments: repair would find the packs that hold what is missing."""
    first = back_up(repository, tmp_path / "tree", files(1, 2))
    content = files(1, 2, 5, 6, size=50_000)
    second = back_up(repository, tmp_path / "tree", content)
    forget(repository, first)
    every = list(repository.reader().index.packs().values())
    for each in [each for each in storage.objects if "index/" in each]:
        del storage.objects[each]
    pages = tuple(pack for pack in every if pack.pack_class == PackClass.METADATA)
    repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(0, bytes(16), 0, (), pages)))
    report = run(storage)
    assert report.unindexed > 0
    lost = tuple(pack for pack in every if pack.pack_class == PackClass.DATA)
    repository.store.put(ObjectKind.INDEX, encode(SegmentRecord(report.sweep, bytes(16), 0, (), lost)))
    checked(storage)
    require_backup(repository, second, content, tmp_path / "restored")
    assert run(storage).unindexed == 0
    assert checked(storage).unused_packs == 0
    require_backup(repository, second, content, tmp_path / "again")


def test_packs_in_no_index_go(repository: Repository, storage: MemoryStorage, tmp_path: Path) -> None:
    """What a killed backup left; its lease tells that nobody writes."""
    back_up(repository, tmp_path / "tree", files(1, 2))
    stray = store_again(repository, files(9))
    storage.objects["packs/00/" + "00" * 16] = storage.objects[name(stray)]
    run(storage)
    assert "packs/00/" + "00" * 16 not in storage.objects
    assert name(stray) not in storage.objects
    assert checked(storage).unreferenced_packs == 0
