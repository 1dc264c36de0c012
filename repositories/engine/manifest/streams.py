"""Streams: long lists that do not fit an entry or a root (extents of large files, problems, attribute values).

Owns cutting and reading them. A stream's leaf is cut behind a record whose chunk id hits, so that a changed part
of a large file changes few leaves.
"""

from collections.abc import Iterator

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSink, ChunkSource
from repositories.engine.manifest.entries import Extended, StreamRef, encode
from repositories.engine.manifest.pages import (
    LEVEL_LIMIT,
    PAGE_MIN,
    PAGE_TARGET_MAX,
    PageRef,
    decode_list,
    decode_records,
    encode_records,
    hits,
)
from repositories.engine.manifest.tree_writer import TreeWriter

VALUE_PIECE = 512 * 1024

_extended_decoder = msgspec.msgpack.Decoder(Extended)


class StreamWriter:
    """Takes records one by one; memory is one leaf and the lists above it."""

    def __init__(self, sink: ChunkSink) -> None:
        self._tree = TreeWriter(sink, ChunkKind.STREAM)
        self._records: list[msgspec.Raw] = []
        self._size = 0
        self._length = 0

    def add(self, record: object, *, length: int = 0, cut_hash: bytes | None = None) -> None:
        """Add a record that stands for `length` bytes of content; `cut_hash` may end the leaf behind it."""
        raw = encode(record)
        if self._records and self._size + len(raw) > PAGE_TARGET_MAX:
            self._close()
        self._records.append(msgspec.Raw(raw))
        self._size += len(raw)
        self._length += length
        if cut_hash is not None and self._size >= PAGE_MIN and hits(cut_hash):
            self._close()

    def add_extent(self, length: int, chunk_id: bytes | None) -> None:
        """Add the next part of a file's content: a chunk, or a hole."""
        self.add(Extended(length, chunk_id), length=length, cut_hash=chunk_id)

    def finish(self) -> StreamRef | None:
        """Put what is left; return the top, or None for an empty stream."""
        self._close()
        return self._tree.finish()

    def _close(self) -> None:
        if self._records:
            self._tree.add_leaf(encode_records(self._records), len(self._records), self._length)
        self._records, self._size, self._length = [], 0, 0


def read_records(source: ChunkSource, top: StreamRef | None) -> Iterator[msgspec.Raw]:
    """Yield the raw records of a stream in order; raises IntegrityError when counts do not fit."""
    if top is None:
        return
    for data, count in _leaves(source, top):
        records = decode_records(data)
        if len(records) != count:
            raise IntegrityError("a stream holds another number of records than its list says")
        yield from records


def read_extents(source: ChunkSource, top: StreamRef) -> Iterator[tuple[int, bytes | None]]:
    """Yield (length, chunk id or None for a hole) of a long file; raises IntegrityError."""
    total = 0
    for raw in read_records(source, top):
        try:
            extent = _extended_decoder.decode(raw)
        except msgspec.DecodeError as error:
            raise IntegrityError(f"a content stream cannot be decoded: {error}") from error
        if extent.length <= 0:
            raise IntegrityError("a content stream has an empty extent")
        total += extent.length
        yield extent.length, extent.id
    if total != top.length:
        raise IntegrityError("a content stream has another length than its entry says")


def stream_page_ids(source: ChunkSource, top: StreamRef) -> Iterator[bytes]:
    """Yield the chunk ids of all pages of a stream, the top first."""
    stack = [(top.id, top.level)]
    while stack:
        page, level = stack.pop()
        yield page
        if level > 0:
            stack.extend((ref.id, level - 1) for ref in reversed(_list(source, page, level)))


def _leaves(source: ChunkSource, top: StreamRef) -> Iterator[tuple[bytes, int]]:
    if not 0 <= top.level <= LEVEL_LIMIT:
        raise IntegrityError(f"a stream claims {top.level} levels")
    stack = [(top.id, top.level, top.count)]
    while stack:
        page, level, count = stack.pop()
        if level == 0:
            yield source.read(ChunkKind.STREAM, page), count
            continue
        refs = _list(source, page, level)
        if sum(ref.count for ref in refs) != count:
            raise IntegrityError("a list of stream pages has another count than the list above it says")
        stack.extend((ref.id, level - 1, ref.count) for ref in reversed(refs))


def _list(source: ChunkSource, page: bytes, level: int) -> list[PageRef]:
    return decode_list(source.read(ChunkKind.STREAM, page), level)


def put_value(sink: ChunkSink, value: bytes) -> tuple[bytes, ...]:
    """Store a long value in pieces; return their chunk ids."""
    return tuple(
        sink.put(ChunkKind.STREAM, value[start : start + VALUE_PIECE])[0] for start in range(0, len(value), VALUE_PIECE)
    )


def read_value(source: ChunkSource, chunks: tuple[bytes, ...]) -> bytes:
    """Return a value stored by `put_value`."""
    return b"".join(source.read(ChunkKind.STREAM, chunk) for chunk in chunks)
