"""The index: segments, merging, look-up with duplicates, marks and damage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.segments import MERGE_ABOVE, SegmentRecord, live_segments, plan_merge
from repositories.engine.packs.directory import BlockRecord, PackRecord
from repositories.engine.packs.table import encode_table


def pack(number: int, *blocks: list[int], kind: ChunkKind = ChunkKind.DATA) -> PackRecord:
    """Return a pack whose blocks hold the chunks with these numbers; chunk n has n + 1 bytes."""
    records = tuple(
        BlockRecord(
            at * 1000, 500, 0, encode_table(bytes([kind] * len(ids)), [n + 1 for n in ids], list(map(chunk, ids)))
        )
        for at, ids in enumerate(blocks)
    )
    return PackRecord(bytes([number]) * 16, 5000, bytes(32), 1, bytes(72), records)


def chunk(number: int) -> bytes:
    return number.to_bytes(2, "big") * 16


def index_of(
    *packs: PackRecord, unusable: tuple[int, ...] = (), damaged: dict[int, set[int]] | None = None
) -> ChunkIndex:
    index = ChunkIndex(
        frozenset(bytes([number]) * 16 for number in unusable),
        {bytes([number]) * 16: frozenset(map(chunk, ids)) for number, ids in (damaged or {}).items()},
    )
    index.add(packs)
    return index


def packs_of(index: ChunkIndex, number: int, kind: ChunkKind = ChunkKind.DATA) -> list[int]:
    return [location.pack[0] for location in index.locations(kind, chunk(number))]


def test_places_are_found() -> None:
    index = index_of(pack(1, [10, 11], [12]), pack(2, [13]))
    location = index.locate(ChunkKind.DATA, chunk(11))
    assert location is not None
    assert (location.pack[0], location.block, location.offset, location.length) == (1, 0, 11, 12)
    location = index.locate(ChunkKind.DATA, chunk(12))
    assert location is not None
    assert (location.block, location.offset, location.length, location.place.record.offset) == (1, 0, 13, 1000)
    assert index.locate(ChunkKind.DATA, chunk(99)) is None
    assert index.locate(ChunkKind.PAGE, chunk(11)) is None
    assert set(index.packs()) == {b"\1" * 16, b"\2" * 16}


def test_duplicates_inside_and_across_packs_all_have_places() -> None:
    index = index_of(pack(1, [5, 5], [5, 6]), pack(2, [6, 7]))
    assert packs_of(index, 5) == [1, 1, 1]
    assert packs_of(index, 6) == [1, 2]
    assert packs_of(index, 7) == [2]


def test_packs_are_added_once() -> None:
    index = index_of(pack(1, [5]))
    index.add([pack(1, [5]), pack(2, [6])])
    assert packs_of(index, 5) == [1]
    assert set(index.packs()) == {b"\1" * 16, b"\2" * 16}


def test_marked_packs_can_be_read_but_are_not_present() -> None:
    index = index_of(pack(1, [5]), pack(2, [6]), unusable=(1,))
    assert index.present(chunk(5)) is None
    assert packs_of(index, 5) == [1]
    assert index.present(chunk(6)) is not None


def test_damaged_chunks_are_not_present_and_come_last() -> None:
    index = index_of(pack(1, [5, 6]), pack(2, [5]), damaged={1: {5}})
    assert packs_of(index, 5) == [2, 1]
    assert packs_of(index, 6) == [1]
    whole = index_of(pack(1, [5, 6]), damaged={1: set()})
    assert whole.present(chunk(5)) is None
    assert whole.present(chunk(6)) is None


def test_blocks_of_hits_name_their_packs() -> None:
    index = index_of(pack(1, [5], [6]), pack(2, [7]))
    ordinals = [index.present(chunk(number)) for number in (6, 7)]
    assert index.packs_where(bytes(number in ordinals for number in range(3))) == {b"\1" * 16, b"\2" * 16}
    assert index.packs_where(bytes(number == ordinals[1] for number in range(2**12))) == {b"\2" * 16}
    assert index.packs_where(b"") == frozenset()


def segment(packs: tuple[PackRecord, ...], replaces: tuple[bytes, ...] = ()) -> SegmentRecord:
    return SegmentRecord(0, bytes(16), 1, replaces, packs)


def test_replaced_segments_are_not_live() -> None:
    accepted = {b"a": segment(()), b"b": segment((), (b"a",)), b"c": segment((), (b"x",))}
    assert set(live_segments(accepted)) == {b"b", b"c"}


def test_few_segments_are_left_alone() -> None:
    live = {bytes([number]): segment((pack(number, [number]),)) for number in range(MERGE_ABOVE)}
    assert plan_merge(live) is None


@given(st.lists(st.integers(1, 400), min_size=MERGE_ABOVE + 1, max_size=60))
def test_merging_keeps_every_pack_and_shrinks_the_number(sizes: list[int]) -> None:
    live = {bytes([number]) * 16: segment((pack(number, list(range(size))),)) for number, size in enumerate(sizes, 1)}
    plan = plan_merge(live)
    assert plan is not None
    assert len(plan.replaces) >= 2
    merged = {each.pack_id for each in plan.packs}
    assert merged == {each.pack_id for replaced in plan.replaces for each in live[replaced].packs}
    left = {each: record for each, record in live.items() if each not in plan.replaces}
    kept = {each.pack_id for record in left.values() for each in record.packs}
    assert merged | kept == {each.pack_id for record in live.values() for each in record.packs}
    assert len(left) + 1 < len(live)


def test_a_large_segment_is_not_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repositories.engine.index.segments.MAX_MERGED_BYTES", 40_000)
    live = {bytes([number]) * 16: segment((pack(number, [number]),)) for number in range(1, MERGE_ABOVE + 2)}
    live[b"large"] = segment((pack(200, list(range(2_000))),))
    plan = plan_merge(live)
    assert plan is not None
    assert b"large" not in plan.replaces
