"""The look-up in flat columns answers as a plain list of places does, whatever lies in a shared table (4.3)."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.ids import ChunkKind
from repositories.engine.index import places
from repositories.engine.index.id_table import IdTable
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.index.places import PlaceTable
from repositories.engine.packs.directory import BlockRecord, PackRecord
from repositories.engine.packs.table import encode_table

KINDS = (ChunkKind.DATA, ChunkKind.PAGE, ChunkKind.STREAM)
Chunks = list[tuple[int, int, int]]  # number, kind, length


def chunk(number: int) -> bytes:
    """Return an id; those of numbers that differ by 4 agree in all but the first byte."""
    return bytes([number // 4]) + bytes([number % 4]) * 31


def pack_id(number: int) -> bytes:
    return bytes([number]) * 16


def pack(number: int, blocks: list[Chunks], decoded: int) -> PackRecord:
    records = tuple(
        BlockRecord(
            at * 1000,
            500 + number,
            decoded or sum(length for _, _, length in block),
            encode_table(
                bytes(KINDS[kind] for _, kind, _ in block),
                [each[2] for each in block],
                [chunk(each[0]) for each in block],
            ),
        )
        for at, block in enumerate(blocks)
    )
    return PackRecord(
        pack_id(number), 5000 + number, bytes([decoded]) * 32, 1 + number % 2, bytes([number]) * 72, records
    )


CHUNKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(0, 2**32 - 1)), min_size=1, max_size=5)
BLOCKS = st.lists(CHUNKS, max_size=3)
PACKS = st.lists(st.builds(pack, st.integers(0, 8), BLOCKS, st.integers(0, 1)), max_size=10)
NUMBERS = st.frozensets(st.integers(0, 8), max_size=4)
DAMAGE = st.dictionaries(st.integers(0, 8), st.frozensets(st.integers(0, 12), max_size=3), max_size=3)


@dataclass
class Plain:
    """All places in a list, looked through from its beginning to its end."""

    unusable: frozenset[int]
    damaged: dict[int, frozenset[int]]
    packs: dict[bytes, PackRecord] = field(default_factory=dict)

    def add(self, packs: list[PackRecord]) -> None:
        for each in packs:
            known = self.packs.get(each.pack_id)
            if known is None or known.content_hash == bytes(32):
                blocks = each.blocks if known is None else known.blocks
                self.packs[each.pack_id] = _with_hash(known or each, each.content_hash, blocks)

    def places(self, number: int, kind: ChunkKind | None = None) -> list[tuple[bytes, int, int, int, bool]]:
        """Return (pack, block, offset, length, counts) of all places of a chunk."""
        found = []
        for each in self.packs.values():
            for position, block in enumerate(each.blocks):
                offset = 0
                for of_kind, length, chunk_id in _chunks(block):
                    if chunk_id == chunk(number) and kind in (None, of_kind):
                        found.append((each.pack_id, position, offset, length, self._counts(each.pack_id[0], number)))
                    offset += length
        return found

    def _counts(self, pack_number: int, number: int) -> bool:
        damaged = self.damaged.get(pack_number)
        return pack_number not in self.unusable and (damaged is None or (bool(damaged) and number not in damaged))


def _chunks(block: BlockRecord) -> list[tuple[int, int, bytes]]:
    count = int.from_bytes(block.table[:4], "big")
    kinds, lengths, ids = block.table[4:], block.table[4 + count :], block.table[4 + 5 * count :]
    return [
        (kinds[at], int.from_bytes(lengths[4 * at : 4 * at + 4], "big"), ids[32 * at : 32 * at + 32])
        for at in range(count)
    ]


def _with_hash(known: PackRecord, content_hash: bytes, blocks: tuple[BlockRecord, ...]) -> PackRecord:
    return PackRecord(known.pack_id, known.length, content_hash, known.pack_class, known.header, blocks)


@given(PACKS, PACKS, PACKS, NUMBERS, DAMAGE, NUMBERS)
@settings(deadline=None, max_examples=60)
def test_all_answers_are_those_of_a_plain_list(
    shared: list[PackRecord],
    first: list[PackRecord],
    second: list[PackRecord],
    unusable: frozenset[int],
    damaged: dict[int, frozenset[int]],
    distrusted: frozenset[int],
) -> None:
    base = PlaceTable()
    for each in shared:
        base.add(each)
    plain = Plain(unusable, damaged)
    index = ChunkIndex(
        frozenset(map(pack_id, unusable)),
        {pack_id(number): frozenset(map(chunk, chunks)) for number, chunks in damaged.items()},
        base,
    )
    plain.add(shared)
    plain.add(first)
    index.add(first)
    require_same(index, plain)
    plain.unusable |= distrusted
    index.distrust(frozenset(map(pack_id, distrusted)))
    require_same(index, plain)
    plain.add(second)
    index.add(second)
    require_same(index, plain)


def test_lengths_of_many_packs_come_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added meanwhile must find room in the table, and may or may not be told."""
    monkeypatch.setattr(places, "_AT_ONCE", 3)
    table = PlaceTable()
    for number in range(7):
        table.add(pack(number, [[(number, 0, 1)]], 0))
    told = table.pack_lengths()
    first = [next(told) for _ in range(4)]
    table.add(pack(8, [[(8, 0, 1)]], 0))
    found = dict([*first, *told])
    found.pop(pack_id(8), None)
    assert found == {pack_id(number): 5000 + number for number in range(7)}
    assert table.pack_length(7) == (pack_id(8), 5008)


def require_same(index: ChunkIndex, plain: Plain) -> None:
    assert dict(index.packs()) == plain.packs
    assert dict(index.packs().lengths()) == {each: record.length for each, record in plain.packs.items()}
    owner = dict.fromkeys(index.packs(), b"")
    where = {ordinal: each for each in owner for ordinal, _ in index.places_in(frozenset({each}))}
    assert sorted(where) == list(range(len(where)))
    for number in range(14):
        places = plain.places(number)
        ordinal = index.present(chunk(number))
        counting = [each[0] for each in places if each[4]]
        assert (ordinal is None) == (not counting)
        if ordinal is not None:
            assert where[ordinal] in counting
            assert (ordinal, chunk(number)) in set(index.places_in(frozenset({where[ordinal]})))
            assert index.packs_where(bytearray(ordinal) + b"\1") == {where[ordinal]}
        for kind in KINDS:
            locations = list(index.locations(kind, chunk(number)))
            assert index.locate(kind, chunk(number)) == next(iter(locations), None)
            found = [(each.pack, each.block, each.offset, each.length) for each in locations]
            expected = plain.places(number, kind)
            assert sorted(found) == sorted(each[:4] for each in expected)
            counts = {each[:4]: each[4] for each in expected}
            assert [counts[each] for each in found] == sorted((counts[each] for each in found), reverse=True)


@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 50))
@settings(deadline=None)
def test_ids_are_found_under_all_their_numbers(numbers: list[int], at_once: int) -> None:
    table = IdTable(2)
    for at in range(0, len(numbers), at_once):
        table.extend(b"".join(bytes([number, 7]) for number in numbers[at : at + at_once]))
    copy = table.copy()
    copy.extend(bytes([41, 7]))
    for number in range(42):
        expected = [at for at, each in enumerate(numbers) if each == number]
        assert list(table.numbers(bytes([number, 7]))) == expected
        assert table.find(bytes([number, 7])) == (expected[0] if expected else None)
        assert list(copy.numbers(bytes([number, 7]))) == expected + [len(numbers)] * (number == 41)


def test_ids_that_agree_in_most_bits_do_not_crowd() -> None:
    """Whoever writes to a repository chooses the ids in a segment of his: they must not make looking up slow."""
    table = IdTable(32)
    table.extend(b"".join((number << 64).to_bytes(32, "big") for number in range(20_000)))
    longest = run = 0
    for slot in table.slots:
        run = run + 1 if slot else 0
        longest = max(longest, run)
    assert longest < 1000


def test_an_index_takes_less_than_64_bytes_a_chunk() -> None:
    """4.3; also where each chunk has a block of its own, of which 24 fill a pack."""
    ids = iter(range(10**6))
    packs = []
    for number in range(2_000):
        blocks = tuple(
            BlockRecord(at, 9, 9, encode_table(b"\1", [9], [next(ids).to_bytes(32, "little")])) for at in range(24)
        )
        packs.append(PackRecord(number.to_bytes(16, "big"), 5000, bytes(32), 1, bytes(72), blocks))
    table = PlaceTable()
    table.reserve(packs)
    for each in packs:
        table.add(each)
    chunks = table.chunks
    columns = [table.packs.ids, table.rows, table.kinds, table.lengths, chunks.ids]
    arrays = [table.packs.slots, chunks.slots, table.starts, table.offsets, table.parts]
    assert sum(map(len, columns)) + 4 * sum(map(len, arrays)) < 64 * len(table)
    assert not table.decoded
