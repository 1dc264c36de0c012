"""Streams and pinned bytes: long lists come back, and what is stored never changes its shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, StreamRef, Xattr, decode_entry, encode, pack_time, unpack_time
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.problems import ProblemRecord, read_problems
from repositories.engine.manifest.streams import (
    StreamWriter,
    put_value,
    read_extents,
    read_value,
    stream_parts,
)
from tests.engine.manifest.memory_chunks import MemoryChunks


def identity(chunks: MemoryChunks, number: int) -> bytes:
    return chunks.chunk_id(ChunkKind.DATA, number.to_bytes(8, "big"))


def test_a_file_of_many_extents_comes_back() -> None:
    chunks = MemoryChunks()
    extents = [(1000 + n, None if n % 7 == 0 else identity(chunks, n)) for n in range(30_000)]
    writer = StreamWriter(chunks)
    for length, chunk in extents:
        writer.add_extent(length, chunk)
    top = writer.finish()
    assert top is not None
    assert (top.count, top.length) == (30_000, sum(length for length, _ in extents))
    assert top.level >= 1
    assert list(read_extents(chunks, top)) == extents
    parts = list(stream_parts(chunks, top, content=True))
    assert {chunk for kind, chunk in parts if kind is ChunkKind.STREAM} == {chunk for _, chunk in chunks.chunks}
    assert [chunk for kind, chunk in parts if kind is ChunkKind.DATA] == [chunk for _, chunk in extents if chunk]


def test_a_changed_extent_changes_few_pages() -> None:
    chunks = MemoryChunks()

    def store(changed: int | None) -> StreamRef | None:
        writer = StreamWriter(chunks)
        for n in range(30_000):
            writer.add_extent(4096, identity(chunks, n + 10**6 if n == changed else n))
        return writer.finish()

    store(None)
    before = len(chunks.chunks)
    store(15_000)
    assert len(chunks.chunks) - before <= 4


def test_an_empty_stream_has_no_top() -> None:
    assert StreamWriter(MemoryChunks()).finish() is None


def test_extents_that_do_not_fit_their_entry_are_refused() -> None:
    chunks = MemoryChunks()
    writer = StreamWriter(chunks)
    writer.add_extent(5, None)
    top = writer.finish()
    assert top is not None
    with pytest.raises(IntegrityError):
        list(read_extents(chunks, StreamRef(top.id, 0, 1, 6)))
    writer = StreamWriter(chunks)
    writer.add_extent(0, None)
    top = writer.finish()
    assert top is not None
    with pytest.raises(IntegrityError):
        list(read_extents(chunks, top))


def test_problems_come_back() -> None:
    chunks = MemoryChunks()
    records = [ProblemRecord(1, "permission", b"a\xff/%d" % n, "EACCES") for n in range(5000)]
    writer = StreamWriter(chunks)
    for record in records:
        writer.add(record)
    assert list(read_problems(chunks, writer.finish())) == records


@pytest.mark.parametrize("size", [0, 1, 4097, 524288, 524289, 3_000_000])
def test_long_values_come_back(size: int) -> None:
    chunks = MemoryChunks()
    value = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert read_value(chunks, put_value(chunks, value)) == value


@given(st.integers(-(2**100), 2**100))
@settings(deadline=None)
def test_any_time_comes_back_exactly(ns: int) -> None:
    entry = Entry(1, b"n", 0, 0, 0, 0, pack_time(ns), pack_time(-ns), 0)
    again = decode_entry(encode(entry))
    assert (unpack_time(again.mtime), unpack_time(again.ctime)) == (ns, -ns)
    assert again.mtime_ns == ns


def test_fields_that_a_later_version_appends_are_ignored() -> None:
    later = encode([1, b"n", 0, 0, 0, 0, 1, 2, 3, 0, None, None, None, None, None, None, "later", [1, 2]])
    assert decode_entry(later) == Entry(1, b"n", 0, 0, 0, 0, 1, 2, 3)


PINNED_ENTRY = (
    "dc001001c40161cd81a4cd03e8cd03e908cf173ecba01ec78000ff2a00"
    "92c4201111111111111111111111111111111111111111111111111111111111111111cd1000"
    "c09193c406757365722e78c40176c0c0920007c0"
)


def test_pinned_entry() -> None:
    """The bytes of an entry: a change here breaks every repository there is."""
    entry = Entry(
        type=1, name=b"a", mode=0o100644, uid=1000, gid=1001, size=8, mtime=1_675_000_000_000_000_000, ctime=-1,
        inode=42, extents=(b"\x11" * 32, 4096), xattrs=(Xattr(b"user.x", b"v"),), link_group=(0, 7),
    )  # fmt: skip
    assert encode(entry).hex() == PINNED_ENTRY


def test_pinned_page() -> None:
    """The bytes of a leaf with two groups: paths share their beginning, entries follow as they are."""
    chunks = MemoryChunks()
    writer = EntryWriter(chunks)
    for path in (b"dir", b"dir/sub"):
        writer.open_directory(path)
        writer.add(b"f", encode(Entry(4, b"f", 0, 0, 0, 0, 0, 0, 0)))
    writer.finish()
    entry = "dc001004c4016600000000000000" + "00" + "c0c0c0c0c0c0"
    assert [data.hex() for data in chunks.chunks.values()] == [
        "9200" + "92" + "9300c40364697291" + entry + "9303c4042f73756291" + entry
    ]


def test_pinned_stream_and_list() -> None:
    """The bytes of stream records: [length, chunk id or nil]."""
    chunks = MemoryChunks()
    writer = StreamWriter(chunks)
    writer.add_extent(300, None)
    writer.add_extent(1, b"\x22" * 32)
    writer.finish()
    assert [data.hex() for data in chunks.chunks.values()] == ["9200" + "92" + "92cd012cc0" + "9201c420" + "22" * 32]
