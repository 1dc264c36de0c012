"""The index as one machine keeps it: the table of places, and which segments were read into it.

Owns the translation between these and the sections of a kept file. What is kept speaks only of segments by their ids,
which are put once: whoever loads it lists the medium and goes by that, so that a file that is old names nothing that is
not there.
"""

from array import array
from collections.abc import Iterator, Mapping

import msgspec

from repositories.engine.ids import CHUNK_ID_LENGTH
from repositories.engine.index.id_table import IdTable
from repositories.engine.index.kept_file import INDEX, KeptFile
from repositories.engine.index.places import PACK_ID_LENGTH, PlaceTable
from repositories.engine.index.segments import HeldSegment, SegmentHead
from repositories.engine.objects.store import ObjectStore

AnySegment = SegmentHead | HeldSegment


class _Segment(msgspec.Struct, frozen=True, array_like=True):
    """A segment; `packs` is how many numbers it has in the last section, -1 for one whose packs are not kept."""

    segment_id: bytes
    fence: int
    replaces: tuple[bytes, ...]
    weight: int
    packs: int


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """All that is no column."""

    pack_modulus: int
    chunk_modulus: int
    chunk_others: dict[int, list[int]]
    decoded: dict[int, int]
    segments: tuple[_Segment, ...]


class KeptIndex(msgspec.Struct, frozen=True):
    """A table, and all segments that were known when it was kept, by id."""

    table: PlaceTable
    segments: dict[bytes, AnySegment]


def index_file(directory: str, store: ObjectStore) -> KeptFile:
    """Return the file below `directory` that keeps a repository's index."""
    return KeptFile(directory, store.repository_id.hex(), INDEX, store.keyring.machine_key("index"))


def load_index(file: KeptFile) -> KeptIndex | None:
    """Return what is kept, or None."""
    sections = file.load()
    if sections is None:
        return None
    try:
        head = msgspec.msgpack.decode(sections[0], type=_Head)
        table = _table(head, sections)
    except (msgspec.DecodeError, ValueError, IndexError):
        return None
    numbers = _numbers(sections[-1])
    segments: dict[bytes, AnySegment] = {}
    at = 0
    for each in head.segments:
        if each.packs < 0:
            segments[each.segment_id] = SegmentHead(each.fence, each.replaces)
            continue
        own = numbers[at : at + each.packs]
        at += each.packs
        segments[each.segment_id] = HeldSegment(each.fence, each.replaces, each.weight, table, own)
    return KeptIndex(table, segments)


def save_index(file: KeptFile, table: PlaceTable, segments: Mapping[bytes, AnySegment]) -> bool:
    """Keep a table and the segments in it, and of all others that they are; return whether that was done."""
    numbers = array("I")
    listed: list[_Segment] = []
    for segment_id, each in segments.items():
        held = isinstance(each, HeldSegment) and each.table is table
        weight = each.weight if isinstance(each, HeldSegment) else 0
        if isinstance(each, HeldSegment) and held:
            numbers.extend(each.numbers)
        packs = len(each.numbers) if isinstance(each, HeldSegment) and held else -1
        listed.append(_Segment(segment_id, each.fence, each.replaces, weight, packs))
    chunks = table.chunks
    head = _Head(table.packs.modulus, chunks.modulus, chunks.others, table.decoded, tuple(listed))
    return file.save([msgspec.msgpack.encode(head), *_columns(table), _bytes(numbers)])


def _columns(table: PlaceTable) -> Iterator[bytearray | memoryview]:
    yield table.packs.ids
    yield _bytes(table.packs.slots)
    yield table.chunks.ids
    yield _bytes(table.chunks.slots)
    yield table.rows
    yield _bytes(table.starts)
    yield _bytes(table.offsets)
    yield _bytes(table.parts)
    yield table.kinds
    yield table.lengths


def _table(head: _Head, sections: list[bytearray]) -> PlaceTable:
    _, pack_ids, pack_slots, chunk_ids, chunk_slots, rows, starts, offsets, parts, kinds, lengths, _ = sections
    packs = IdTable(PACK_ID_LENGTH, pack_ids, _numbers(pack_slots), head.pack_modulus)
    chunks = IdTable(CHUNK_ID_LENGTH, chunk_ids, _numbers(chunk_slots), head.chunk_modulus, head.chunk_others)
    by_block = _numbers(starts), _numbers(offsets), _numbers(parts)
    return PlaceTable(packs, chunks, rows, *by_block, kinds, lengths, head.decoded)


def _numbers(section: bytearray) -> "array[int]":
    numbers = array("I")
    numbers.frombytes(section)
    return numbers


def _bytes(numbers: "array[int]") -> memoryview:
    return memoryview(numbers).cast("B")
