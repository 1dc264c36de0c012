"""The walk over what a backup names: everything, each page as often as the visitor wants (3.4)."""

import msgspec
import pytest

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest import walking
from repositories.engine.manifest.entries import Entry, StreamRef, Xattr
from repositories.engine.manifest.pages import PageRef, encode_list
from repositories.engine.manifest.problems import ProblemRecord
from repositories.engine.manifest.root import BackupRoot, LineageRecord, OriginRecord, SourceRecord, Statistics
from repositories.engine.manifest.streams import StreamWriter, put_value
from repositories.engine.manifest.walking import CONTENT, NAMED, PAGE, PROBLEMS, Walk
from tests.engine.manifest.memory_chunks import MemoryChunks
from tests.engine.manifest.test_pages import file_entry, write

Told = tuple[ChunkKind, bytes, int]


def root_of(**fields: object) -> BackupRoot:
    root = BackupRoot(
        backup_id="b",
        source=SourceRecord("tree", "filesystem", b"/", "host"),
        origin=OriginRecord("run", "external"),
        lineage=LineageRecord(1, "b", "full"),
        started_ns=0,
        finished_ns=0,
        statistics=Statistics(*[0] * 12),
    )
    return msgspec.structs.replace(root, **fields)


def rest() -> None:
    """Do nothing between two pages."""


def data(chunks: MemoryChunks, number: int) -> bytes:
    return chunks.put(ChunkKind.DATA, b"data %d" % number)[0]


def long_stream(chunks: MemoryChunks, numbers: range) -> StreamRef:
    writer = StreamWriter(chunks)
    for number in numbers:
        writer.add_extent(1, data(chunks, number))
    top = writer.finish()
    assert top is not None
    return top


def whole_root(chunks: MemoryChunks) -> BackupRoot:
    """Return a root that names chunks in every way there is, over several levels of pages."""
    stream = long_stream(chunks, range(20_000))
    problems = StreamWriter(chunks)
    problems.add(ProblemRecord(1, "gone", b"path", "detail"))
    value = put_value(chunks, bytes(range(256)) * 4096)
    files: list[Entry] = [
        file_entry(b"%06d" % number, size=1, extents=(data(chunks, 100_000 + number), 7)) for number in range(20_000)
    ]
    files.append(file_entry(b"stream", size=stream.length, stream=stream))
    top = msgspec.structs.replace(
        file_entry(b"."), type=2, mode=0o40755, xattrs=(Xattr(b"user.long", None, value), Xattr(b"user.short", b"v"))
    )
    return root_of(pages=write(chunks, {b"": files}), top_entry=top, problems=problems.finish())


def test_all_that_is_stored_for_a_backup_is_told_in_its_use() -> None:
    chunks = MemoryChunks()
    root = whole_root(chunks)
    told: set[Told] = set()

    def mark(kind: ChunkKind, chunk: bytes, use: int) -> bool:
        known = (kind, chunk, use) in told
        told.add((kind, chunk, use))
        return not known

    Walk(chunks, mark, rest).backup(root)
    assert {(kind, chunk) for kind, chunk, _ in told} == chunks.chunks.keys()
    uses = {use: {kind for kind, _, each in told if each == use} for use in (NAMED, PAGE, CONTENT, PROBLEMS)}
    assert uses == {
        NAMED: {ChunkKind.DATA, ChunkKind.STREAM},
        PAGE: {ChunkKind.PAGE},
        CONTENT: {ChunkKind.STREAM},
        PROBLEMS: {ChunkKind.STREAM},
    }


def test_what_lies_below_a_page_is_read_only_where_the_visitor_says_so() -> None:
    chunks = MemoryChunks()
    root = whole_root(chunks)
    chunks.reads.clear()
    told: list[Told] = []

    def mark(kind: ChunkKind, chunk: bytes, use: int) -> bool:
        told.append((kind, chunk, use))
        return False

    Walk(chunks, mark, rest).backup(root)
    assert chunks.reads == []
    tops = [root.problems, root.pages]
    assert [chunk for _, chunk, use in told if use != NAMED] == [top.id for top in tops if top is not None]


def test_pages_are_read_in_the_order_in_which_they_lie() -> None:
    chunks = MemoryChunks()
    stream = long_stream(chunks, range(20_000))
    assert stream.level
    root = root_of(pages=write(chunks, {b"": [file_entry(b"f", size=stream.length, stream=stream)]}))
    leaves = [chunk for kind, chunk in chunks.chunks if kind is ChunkKind.STREAM and chunk != stream.id]
    chunks.reads.clear()
    Walk(chunks, lambda *_: True, rest).backup(root)
    assert [chunk for chunk in chunks.reads if chunk in leaves] == leaves


def test_a_beat_comes_with_each_page_and_may_end_the_walk() -> None:
    chunks = MemoryChunks()
    root = whole_root(chunks)
    beats: list[int] = []

    def beat() -> None:
        beats.append(1)
        if len(beats) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Walk(chunks, lambda *_: True, beat).backup(root)
    assert len(beats) == 5


def test_a_page_that_is_gone_ends_the_walk() -> None:
    chunks = MemoryChunks()
    root = whole_root(chunks)
    del chunks.chunks[next(key for key in chunks.chunks if key[0] is ChunkKind.PAGE)]
    with pytest.raises(ObjectMissingError):
        Walk(chunks, lambda *_: True, rest).backup(root)


def test_lists_that_no_writer_makes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each list names itself so often that what waits would fill all memory (engine.md, 1.8)."""
    monkeypatch.setattr(walking, "PENDING_LIMIT", 100)
    chunks = MemoryChunks()
    below = chunks.put(ChunkKind.PAGE, encode_list(1, [PageRef(bytes(32), 1, 0)] * 60))[0]
    top = chunks.put(ChunkKind.PAGE, encode_list(2, [PageRef(below, 1, 0)] * 60))[0]
    with pytest.raises(IntegrityError, match="wider than any backup"):
        Walk(chunks, lambda *_: True, rest).backup(root_of(pages=StreamRef(top, 2, 60, 0)))
