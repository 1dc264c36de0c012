"""Content of one entry, as a restore reads it: extents with their lengths, and chunks by their place.

Owns nothing but the walk over extents; every chunk is verified by the reader.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol, TypeVar

import msgspec

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_XATTR, MAX_XATTRS, MIB
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, Xattr
from repositories.engine.manifest.streams import read_extents, read_value

ANNOUNCED_TOGETHER: Final = 8 * MIB
"""How many bytes of pieces are worth one announcement: neighbours in it become one request."""
_ANNOUNCED_AHEAD: Final = 48 * MIB
_P = TypeVar("_P")
_B = TypeVar("_B")


class Place(Protocol):
    """Where a chunk lies; `length` is the chunk's."""

    @property
    def pack(self) -> bytes:
        """Id of the pack."""

    @property
    def block(self) -> int:
        """Number of the block in it."""

    @property
    def offset(self) -> int:
        """Where the chunk begins in the decoded block."""

    @property
    def length(self) -> int:
        """Bytes of the chunk."""


class PlacedChunks(ChunkSource, Protocol[_P, _B]):
    """A reader that also knows where chunks lie. Safe in several threads."""

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> _P | None:
        """Return the place of a chunk, or None if no index names it."""

    def read_block(self, location: _P) -> _B:
        """Return the whole block a place lies in."""

    @property
    def far(self) -> bool:
        """Tell whether announcing what will be read helps."""

    def expect(self, locations: Iterable[_P]) -> None:
        """Let the blocks of these places be fetched ahead."""

    def give_up(self) -> None:
        """Let nothing be fetched ahead any more; who waits for that gets OperationCancelledError."""

    def keep_little(self) -> None:
        """Hold little in memory from now on: others will read most of the content."""

    def apart(self) -> "PlacedChunks[_P, _B]":
        """Return the same for a process that was just forked, which shares no lock with this one."""

    def extract(self, block: _B, kind: ChunkKind, chunk_id: bytes, location: _P) -> memoryview:
        """Return a chunk of a block, verified."""


AnyChunks = PlacedChunks[Any, Any]


class Piece(msgspec.Struct, frozen=True):
    """A part of a file: `chunk` None is a hole. `place` is where the chunk lies."""

    length: int
    chunk: bytes | None
    place: Place | None = None


def content_of(source: AnyChunks, entry: Entry, first: Place | None = None) -> Iterator[Piece]:
    """Yield the parts of a file; raises IntegrityError, ObjectMissingError. Their lengths together are its size.

    `first` is the place of its first chunk, if that was looked up already.
    """
    total = 0
    for piece in _pieces(source, entry, first):
        total += piece.length
        if total > entry.size:
            break
        yield piece
    if total != entry.size:
        raise IntegrityError("a file's content has another length than its entry says", hint="run check")


def read_piece(source: AnyChunks, chunk: bytes, place: Place) -> memoryview | bytes:
    """Return a chunk from its place, or from any other it has; raises IntegrityError, ObjectMissingError."""
    try:
        return source.extract(source.read_block(place), ChunkKind.DATA, chunk, place)
    except (IntegrityError, ObjectMissingError):
        return source.read(ChunkKind.DATA, chunk)


def first_place(source: AnyChunks, entry: Entry) -> Place | None:
    """Return the place of the first inline chunk, to sort by."""
    for extent in entry.extents or ():
        if isinstance(extent, bytes):
            place: Place | None = source.locate(ChunkKind.DATA, extent)
            return place
    return None


def inline_places(source: AnyChunks, entry: Entry) -> list[Place]:
    """Return the places of a file's inline chunks, as far as an index names them."""
    found = (source.locate(ChunkKind.DATA, each) for each in entry.extents or () if isinstance(each, bytes))
    return [place for place in found if place is not None]


def announced(source: AnyChunks, pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Yield pieces as they come; the places of those that follow are announced to a source far away."""
    waiting: deque[Piece] = deque()
    fresh: list[Place] = []
    held = fresh_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        if piece.place is not None:
            fresh.append(piece.place)
            fresh_bytes += piece.length
            held += piece.length
        if fresh_bytes >= ANNOUNCED_TOGETHER:
            source.expect(fresh)
            fresh, fresh_bytes = [], 0
        while held > _ANNOUNCED_AHEAD:
            held -= waiting[0].length if waiting[0].place is not None else 0
            yield waiting.popleft()
    source.expect(fresh)
    yield from waiting


def _pieces(source: AnyChunks, entry: Entry, first: Place | None) -> Iterator[Piece]:
    if entry.stream is not None:
        for length, chunk in read_extents(source, entry.stream):
            yield Piece(length, chunk, _place(source, chunk) if chunk is not None else None)
        return
    for extent in entry.extents or ():
        if isinstance(extent, bytes):
            place = first or _place(source, extent)
            first = None
            yield Piece(place.length, extent, place)
        elif extent > 0:
            yield Piece(extent, None)
        else:
            raise IntegrityError("a file's content has an empty hole", hint="run check")


def _place(source: AnyChunks, chunk_id: bytes) -> Place:
    place: Place | None = source.locate(ChunkKind.DATA, chunk_id)
    if place is None:
        raise ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check")
    return place


def xattrs_of(source: ChunkSource, xattrs: tuple[Xattr, ...] | None) -> list[tuple[bytes, bytes]]:
    """Return the attributes with their values; raises IntegrityError, ObjectMissingError."""
    found: list[tuple[bytes, bytes]] = []
    room = MAX_XATTRS
    for each in xattrs or ():
        value = each.value or b"" if each.chunks is None else read_value(source, each.chunks, min(room, MAX_XATTR))
        room -= len(value)
        found.append((each.name, value))
    return found
