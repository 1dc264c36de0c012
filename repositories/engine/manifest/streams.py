"""Streams: long lists that do not fit an entry or a root (extents of large files, problems, attribute values).

Owns cutting and reading them. A stream's leaf is cut behind a record whose chunk id hits, so that a changed part
of a large file changes few leaves.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import UNDECODABLE
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_XATTR
from repositories.engine.manifest.chunks import ChunkSink, ChunkSource
from repositories.engine.manifest.entries import Extended, StreamRef, encode
from repositories.engine.manifest.pages import (
    LEVEL_LIMIT,
    PAGE_MIN,
    PAGE_TARGET_MAX,
    PENDING_LIMIT,
    decode_list,
    decode_records,
    encode_records,
    hits,
)
from repositories.engine.manifest.tree_writer import TreeWriter

VALUE_PIECE = 512 * 1024
_TWO_HOLES: Final = "a content stream has two holes in a row"

_Waiting = TypeVar("_Waiting")
Part = tuple[ChunkKind, bytes]

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

    def snapshot(self) -> StreamRef | None:
        """Put what there is so far as a stream of its own, and go on as if nothing had been asked."""
        tree = self._tree.copy()
        if self._records:
            tree.add_leaf(encode_records(self._records), len(self._records), self._length)
        return tree.finish()

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
    for ref in _leaves(source, top):
        yield from _records(source, ref)


def read_extents(source: ChunkSource, top: StreamRef) -> Iterator[tuple[int, bytes | None]]:
    """Yield (length, chunk id or None for a hole) of a long file; raises IntegrityError."""
    hole_before = False
    for ref in _leaves(source, top):
        for extent in _extents(source, ref):
            if hole_before and extent.id is None:
                raise IntegrityError(_TWO_HOLES)
            hole_before = extent.id is None
            yield extent.length, extent.id


def stream_parts(source: ChunkSource, top: StreamRef, *, content: bool) -> Iterator[Part]:
    """Yield all that a stream needs, as (kind, chunk id): its pages, and the chunks of a content stream.

    Each page is read once, however often lists name it. Raises IntegrityError as reading the stream would.
    """
    return ((kind, chunk_id) for kind, chunk_id, _ in stream_claims(source, top, content=content))


def stream_claims(source: ChunkSource, top: StreamRef, *, content: bool) -> Iterator[tuple[ChunkKind, bytes, int]]:
    """Yield what `stream_parts` does, and of each chunk of content how long it is said to be; 0 for pages."""
    claims: dict[bytes, StreamRef] = {}
    ends = _Ends()
    stack: list[tuple[StreamRef, list[StreamRef] | None]] = [(top, None)]
    while stack:
        ref, below = stack.pop()
        if below is not None:
            ends.close_list(ref.id, below)
            continue
        if claims.setdefault(ref.id, ref) is not ref:
            if claims[ref.id] != ref:
                raise IntegrityError("two lists say different things of one page of a stream")
            continue
        yield ChunkKind.STREAM, ref.id, 0
        if ref.level > 0:
            refs = _list(source, ref)
            stack.append((ref, refs))
            below_it: list[tuple[StreamRef, list[StreamRef] | None]] = [(each, None) for each in refs]
            _push(stack, below_it)
        elif content:
            extents = _extents(source, ref)
            ends.close_leaf(ref.id, extents)
            yield from ((ChunkKind.DATA, each.id, each.length) for each in extents if each.id is not None)
        else:
            _records(source, ref)


class _Ends:
    """Whether pages of one content stream begin and end with a hole, so that no hole follows a hole anywhere in it.

    A page that comes several times is known by its ends: what the whole stream says is told without going through it,
    which lists of lists could make longer than anybody can read. Lists are closed after all that lies below them.
    """

    def __init__(self) -> None:
        self._of: dict[bytes, tuple[bool, bool]] = {}

    def close_leaf(self, page: bytes, extents: list[Extended]) -> None:
        """Take a page of extents. Raises IntegrityError."""
        if any(one.id is None and other.id is None for one, other in pairwise(extents)):
            raise IntegrityError(_TWO_HOLES)
        if extents:
            self._of[page] = extents[0].id is None, extents[-1].id is None

    def close_list(self, page: bytes, below: list[StreamRef]) -> None:
        """Take a list of pages. Raises IntegrityError. Pages of other streams have no ends."""
        ends = [self._of.get(ref.id, (False, False)) for ref in below]
        if any(one[1] and other[0] for one, other in pairwise(ends)):
            raise IntegrityError(_TWO_HOLES)
        self._of[page] = ends[0][0], ends[-1][1]


def read_page_parts(source: ChunkSource, page: bytes, level: int, *, content: bool) -> tuple[list[bytes], list[bytes]]:
    """Return (pages below, chunks of content) that one page of a stream names, whatever sums a list claims of it.

    Raises IntegrityError, ObjectMissingError.
    """
    if level == 0 and not content:
        return [], []
    data = source.read(ChunkKind.STREAM, page)
    if level > 0:
        return [ref.id for ref in decode_list(data, level)], []
    try:
        extents = [_extended_decoder.decode(raw) for raw in decode_records(data)]
    except UNDECODABLE as error:
        raise IntegrityError(f"a content stream cannot be decoded: {error}") from error
    return [], [extent.id for extent in extents if extent.id is not None]


def _leaves(source: ChunkSource, top: StreamRef) -> Iterator[StreamRef]:
    stack = [top]
    while stack:
        ref = stack.pop()
        if ref.level == 0:
            yield ref
        else:
            _push(stack, _list(source, ref))


def _push(stack: list[_Waiting], refs: list[_Waiting]) -> None:
    if len(stack) + len(refs) > PENDING_LIMIT:
        raise IntegrityError("a stream has lists that are wider than any backup makes them")
    stack.extend(reversed(refs))


def _list(source: ChunkSource, top: StreamRef) -> list[StreamRef]:
    if top.level > LEVEL_LIMIT:
        raise IntegrityError(f"a stream claims {top.level} levels")
    refs = decode_list(source.read(ChunkKind.STREAM, top.id), top.level)
    if (sum(ref.count for ref in refs), sum(ref.length for ref in refs)) != (top.count, top.length):
        raise IntegrityError("a list of stream pages has another count or length than the list above it says")
    return [StreamRef(ref.id, top.level - 1, ref.count, ref.length) for ref in refs]


def _records(source: ChunkSource, ref: StreamRef) -> list[msgspec.Raw]:
    records = decode_records(source.read(ChunkKind.STREAM, ref.id))
    if len(records) != ref.count:
        raise IntegrityError("a stream holds another number of records than its list says")
    return records


def _extents(source: ChunkSource, ref: StreamRef) -> list[Extended]:
    try:
        extents = [_extended_decoder.decode(raw) for raw in _records(source, ref)]
    except UNDECODABLE as error:
        raise IntegrityError(f"a content stream cannot be decoded: {error}") from error
    if sum(extent.length for extent in extents) != ref.length:
        raise IntegrityError("a page of a content stream has another length than its list says")
    return extents


def put_value(sink: ChunkSink, value: bytes) -> tuple[bytes, ...]:
    """Store a long value in pieces; return their chunk ids."""
    return tuple(
        sink.put(ChunkKind.STREAM, value[start : start + VALUE_PIECE])[0] for start in range(0, len(value), VALUE_PIECE)
    )


def read_value(source: ChunkSource, chunks: tuple[bytes, ...], limit: int = MAX_XATTR) -> bytes:
    """Return a value stored by `put_value`; raises IntegrityError for one of more than `limit` bytes."""
    value = bytearray()
    for chunk in chunks:
        value += source.read(ChunkKind.STREAM, chunk)
        if len(value) > limit:
            raise IntegrityError("the value of an extended attribute is longer than one can be")
    return bytes(value)
