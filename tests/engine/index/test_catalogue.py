"""The index that a machine keeps: read once, extended, made anew, and never believed beyond what is on the medium."""

from array import array
from pathlib import Path

import pytest

from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index import catalogue
from repositories.engine.index.catalogue import Catalogue, lengths_of
from repositories.engine.index.kept_index import index_file, load_index, save_index
from repositories.engine.index.places import PlaceTable
from repositories.engine.index.segments import HeldSegment, SegmentHead, SegmentRecord
from repositories.engine.packs.directory import PackRecord
from repositories.engine.repository import Repository, open_repository
from repositories.engine.sessions.views import accepted_by_newest_sweep
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.index.test_index import chunk, pack
from tests.engine.repositories import PASSWORD, back_up_tree, make_repository, restore_latest


class Counting(MemoryStorage):
    """Notes which objects are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Note and read."""
        self.read.append(name)
        return super().get(name, offset, length)

    def segments_read(self) -> int:
        """Return how many segments were read since this was last asked."""
        found, self.read = [name for name in self.read if name.startswith("index/")], []
        return len(found)


@pytest.fixture(autouse=True)
def everything_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FEW_BYTES", 0)


@pytest.fixture
def storage() -> Counting:
    storage = Counting()
    make_repository(storage)
    return storage


def opened(storage: MemoryStorage, kept: Path) -> Repository:
    repository = open_repository(storage, PASSWORD)
    repository.keep_in(str(kept))
    return repository


def put(repository: Repository, *packs: PackRecord, replaces: tuple[bytes, ...] = (), fence: int = 0) -> bytes:
    record = SegmentRecord(fence, bytes(16), 1, replaces, packs)
    return repository.store.put(ObjectKind.INDEX, encode(record))


def remove(storage: MemoryStorage, segment_id: bytes) -> None:
    for name in names_of(ObjectKind.INDEX, object_name(ObjectKind.INDEX, segment_id)):
        storage.delete(name)


def known(repository: Repository, most: int = 60) -> set[int]:
    index = repository.reader().index
    return {number for number in range(most) if index.locate(ChunkKind.DATA, chunk(number)) is not None}


def test_segments_are_read_once_by_a_machine(storage: Counting, tmp_path: Path) -> None:
    put(open_repository(storage, PASSWORD), pack(1, [1, 2], [3]), pack(2, [4]))
    assert known(opened(storage, tmp_path)) == {1, 2, 3, 4}
    assert storage.segments_read() == 2
    again = opened(storage, tmp_path)
    assert known(again) == {1, 2, 3, 4}
    assert storage.segments_read() == 0
    put(again, pack(3, [5]))
    assert known(again) == {1, 2, 3, 4, 5}
    assert storage.segments_read() == 1
    assert known(opened(storage, tmp_path)) == {1, 2, 3, 4, 5}
    assert storage.segments_read() == 0


def test_a_little_stays_beside_the_table(storage: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(open_repository(storage, PASSWORD), pack(1, list(range(40))))
    known(opened(storage, tmp_path))
    before = (tmp_path / os_name(storage)).read_bytes()
    monkeypatch.setattr(catalogue, "FEW_BYTES", 10_000)
    put(open_repository(storage, PASSWORD), pack(2, [50]))
    storage.segments_read()
    for _ in range(2):
        assert known(opened(storage, tmp_path)) == {*range(40), 50}
        assert storage.segments_read() == 1
    assert (tmp_path / os_name(storage)).read_bytes() == before


def os_name(storage: MemoryStorage) -> str:
    return f"{open_repository(storage, PASSWORD).id}.index"


def test_small_indexes_are_not_kept(storage: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FEW_BYTES", 10_000)
    put(open_repository(storage, PASSWORD), pack(1, [1]))
    assert known(opened(storage, tmp_path)) == {1}
    assert list(tmp_path.iterdir()) == []


def test_many_small_segments_are_kept(storage: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FEW_BYTES", 1_000_000)
    for number in range(catalogue.FEW_SEGMENTS + 1):
        put(open_repository(storage, PASSWORD), pack(number, [number]))
    assert known(opened(storage, tmp_path), 100) == set(range(catalogue.FEW_SEGMENTS + 1))
    storage.segments_read()
    assert known(opened(storage, tmp_path), 100) == set(range(catalogue.FEW_SEGMENTS + 1))
    assert storage.segments_read() == 0


def test_what_is_gone_from_the_medium_is_in_no_index(storage: Counting, tmp_path: Path) -> None:
    """A kept index that is older than a prune names chunks that are gone: none of them may count as stored."""
    first = put(open_repository(storage, PASSWORD), pack(1, [1]), pack(2, [2]))
    put(open_repository(storage, PASSWORD), pack(3, [3]))
    assert known(opened(storage, tmp_path)) == {1, 2, 3}
    put(open_repository(storage, PASSWORD), pack(2, [2]), replaces=(first,))
    assert known(opened(storage, tmp_path)) == {2, 3}
    remove(storage, first)
    after = opened(storage, tmp_path)
    assert known(after) == {2, 3}
    assert set(after.reader().index.packs()) == {bytes([2]) * 16, bytes([3]) * 16}
    live = after.catalogue.live(lambda *_: True)
    assert dict(lengths_of(live, PlaceTable())).keys() == {bytes([2]) * 16, bytes([3]) * 16}


@pytest.mark.parametrize("few", [0, 10_000])
def test_the_lengths_of_all_packs_are_told_whichever_table_they_lie_in(
    storage: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """What a writer looks for on the medium: a pack that is left out here would never be missed."""
    put(open_repository(storage, PASSWORD), pack(1, [1]), pack(2, [2, 3]))
    before = opened(storage, tmp_path).catalogue.live_index(lambda *_: True)
    monkeypatch.setattr(catalogue, "FEW_BYTES", few)
    put(open_repository(storage, PASSWORD), pack(3, [4]))
    live = opened(storage, tmp_path).catalogue.live_index(lambda *_: True)
    expected = {each.pack_id: each.length for each in (pack(1, [1]), pack(2, [2, 3]), pack(3, [4]))}
    assert dict(live.lengths()) == expected
    beside = expected.keys() - dict(live.base.pack_lengths()).keys()
    assert dict(lengths_of(live.segments, live.base)).keys() == beside == (set() if few == 0 else {bytes([3]) * 16})
    assert dict(lengths_of(live.segments, before.base)) == expected


def test_segments_that_were_merged_leave_the_table_as_it_is(storage: Counting, tmp_path: Path) -> None:
    ids = [put(open_repository(storage, PASSWORD), pack(number, [number])) for number in (1, 2, 3)]
    assert known(opened(storage, tmp_path)) == {1, 2, 3}
    put(open_repository(storage, PASSWORD), *(pack(number, [number]) for number in (1, 2)), replaces=tuple(ids[:2]))
    storage.segments_read()
    for read in (1, 0):
        assert known(opened(storage, tmp_path)) == {1, 2, 3}
        assert storage.segments_read() == read


def test_one_that_comes_to_life_again_is_read_again(storage: Counting, tmp_path: Path) -> None:
    """Of replaced segments no packs are kept; what replaced them may turn out not to count."""
    first = put(open_repository(storage, PASSWORD), pack(1, [1]))
    second = put(open_repository(storage, PASSWORD), pack(1, [1]), pack(2, [2]), replaces=(first,))
    assert known(opened(storage, tmp_path)) == {1, 2}
    remove(storage, second)
    repository = opened(storage, tmp_path)
    assert known(repository) == {1}
    assert repository.catalogue.damaged() == ()


def test_one_that_comes_to_life_again_may_be_damaged(storage: Counting, tmp_path: Path) -> None:
    first = put(open_repository(storage, PASSWORD), pack(1, [1]))
    second = put(open_repository(storage, PASSWORD), pack(2, [2]), replaces=(first,))
    assert known(opened(storage, tmp_path)) == {2}
    remove(storage, second)
    for name in names_of(ObjectKind.INDEX, object_name(ObjectKind.INDEX, first)):
        storage.objects[name] = storage.objects[name][:-1] + bytes([storage.objects[name][-1] ^ 1])
    repository = opened(storage, tmp_path)
    assert known(repository) == set()
    assert repository.catalogue.damaged() == (first,)


def test_void_segments_do_not_count_however_well_they_are_kept(storage: Counting, tmp_path: Path) -> None:
    put(open_repository(storage, PASSWORD), pack(1, [1]))
    late = put(open_repository(storage, PASSWORD), pack(2, [2]))
    assert known(opened(storage, tmp_path)) == {1, 2}
    live = opened(storage, tmp_path).catalogue.live_index(lambda segment_id, _: segment_id != late)
    index = live.index(frozenset(), {})
    assert index.locate(ChunkKind.DATA, chunk(1)) is not None
    assert index.locate(ChunkKind.DATA, chunk(2)) is None


def test_records_that_differ_are_given_back_as_they_are(storage: Counting) -> None:
    """Two segments that say different things of one pack: a merge must carry on what each of them says."""
    repository = open_repository(storage, PASSWORD)
    records = [pack(1, [1, 2]), pack(1, [1]), pack(1, [1, 2])]
    ids = [put(repository, record) for record in records]
    live = repository.catalogue.live_index(lambda *_: True).segments
    assert [live[each].packs for each in ids] == [(record,) for record in records]


def test_a_segment_gives_back_all_its_packs_also_those_of_others(storage: Counting, tmp_path: Path) -> None:
    repository = opened(storage, tmp_path)
    shared = pack(1, [1, 2], [3])
    ids = [put(repository, shared, pack(2, [4])), put(repository, pack(3, [5]), shared)]
    known(repository)
    live = opened(storage, tmp_path).catalogue.live(accepted_by_newest_sweep(repository.store))
    assert all(isinstance(segment, HeldSegment) for segment in live.values())
    assert live[ids[0]].packs == (shared, pack(2, [4]))
    assert live[ids[1]].packs == (pack(3, [5]), shared)


def test_a_kept_index_of_another_key_does_not_count(storage: Counting, tmp_path: Path) -> None:
    """Who cannot open the repository cannot make chunks count as stored; nor can who copies another one's file."""
    repository = opened(storage, tmp_path)
    put(repository, pack(1, [1]))
    assert known(repository) == {1}
    file = index_file(str(tmp_path), repository.store)
    other = make_repository()
    put(other, pack(1, [1]), pack(2, [2]))
    other.keep_in(str(tmp_path))
    known(other)
    (tmp_path / f"{other.id}.index").replace(file.path)
    assert known(opened(storage, tmp_path)) == {1}
    assert load_index(file) is not None  # made anew


def test_what_is_kept_is_what_was_read(storage: Counting, tmp_path: Path) -> None:
    repository = opened(storage, tmp_path)
    packs = [pack(1, [1, 2, 1], [3]), pack(2, [1]), pack(3), pack(4, [4], kind=ChunkKind.STREAM)]
    ids = put(repository, *packs), put(repository, pack(9, [9]))
    replaced = put(repository, replaces=(ids[1],))
    known(repository)
    found = load_index(index_file(str(tmp_path), repository.store))
    assert found is not None
    assert found.segments[ids[0]].fence == 0
    assert isinstance(found.segments[ids[1]], SegmentHead)
    assert found.segments[replaced].replaces == (ids[1],)
    assert [found.table.record(number) for number in range(4)] == packs
    assert save_index(index_file(str(tmp_path), repository.store), found.table, found.segments)
    again = load_index(index_file(str(tmp_path), repository.store))
    assert again is not None
    assert (again.table, again.segments.keys()) == (found.table, found.segments.keys())
    assert array("I", again.segments[ids[0]].numbers) == array("I", range(4))  # type: ignore[union-attr]


def test_backups_and_restores_go_by_a_kept_index(tmp_path: Path) -> None:
    storage, tree = Counting(), tmp_path / "tree"
    make_repository(storage)
    tree.mkdir()
    for number in range(3):
        (tree / f"file{number}").write_bytes(bytes([number]) * 1000)
        result = back_up_tree(opened(storage, tmp_path / "kept"), tree)
        assert result.new_chunks <= 4
    storage.segments_read()
    assert restore_latest(opened(storage, tmp_path / "kept"), tmp_path / "out").exit_code == 0
    assert storage.segments_read() == 1
    assert (tmp_path / "out" / "file2").read_bytes() == bytes([2]) * 1000


def test_a_place_that_cannot_be_written_to_keeps_nobody_from_going_on(storage: Counting, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"a file")
    repository = opened(storage, tmp_path / "kept" / "below")
    put(repository, pack(1, [1]))
    assert known(repository) == {1}
    tree = tmp_path / "tree"
    tree.mkdir()
    assert back_up_tree(opened(storage, tmp_path / "kept" / "below"), tree).manifest_id


def test_segments_put_by_this_process_are_in_its_next_index(storage: Counting) -> None:
    store = open_repository(storage, PASSWORD).store
    own = Catalogue(store)
    own.live(lambda *_: True)
    record = SegmentRecord(0, bytes(16), 1, (), (pack(1, [1]),))
    own.remember(store.put(ObjectKind.INDEX, encode(record)), record)
    assert own.live_index(lambda *_: True).index(frozenset(), {}).present(chunk(1)) is not None
