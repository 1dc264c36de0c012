"""Content of one entry, as a restore reads it: extents with their lengths, and chunks by their place.

Owns nothing but the walk over extents; every chunk is verified by the reader.
"""

from collections.abc import Iterator
from typing import Protocol

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, Xattr
from repositories.engine.manifest.streams import read_extents, read_value


class Place(Protocol):
    """Where a chunk lies; `length` is the chunk's."""

    @property
    def pack(self) -> bytes:
        """Id of the pack."""

    @property
    def block(self) -> int:
        """Number of the block in it."""

    @property
    def length(self) -> int:
        """Bytes of the chunk."""


class PlacedChunks(ChunkSource, Protocol):
    """A reader that also knows where chunks lie. Safe in several threads."""

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Place | None:
        """Return the place of a chunk, or None if no index names it."""


def content_of(source: PlacedChunks, entry: Entry) -> Iterator[tuple[int, bytes | None]]:
    """Yield (length, chunk id or None for a hole); raises IntegrityError, ObjectMissingError.

    The lengths together are the entry's size.
    """
    total = 0
    for length, chunk in _extents(source, entry):
        total += length
        if total > entry.size:
            break
        yield length, chunk
    if total != entry.size:
        raise IntegrityError("a file's content has another length than its entry says", hint="run check")


def _extents(source: PlacedChunks, entry: Entry) -> Iterator[tuple[int, bytes | None]]:
    if entry.stream is not None:
        yield from read_extents(source, entry.stream)
        return
    for extent in entry.extents or ():
        if isinstance(extent, bytes):
            yield _length(source, extent), extent
        elif extent > 0:
            yield extent, None
        else:
            raise IntegrityError("a file's content has an empty hole", hint="run check")


def _length(source: PlacedChunks, chunk_id: bytes) -> int:
    place = source.locate(ChunkKind.DATA, chunk_id)
    if place is None:
        raise ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check")
    return place.length


def first_place(source: PlacedChunks, entry: Entry) -> tuple[bytes, int]:
    """Return (pack, block) of the first inline chunk, to sort by."""
    for extent in entry.extents or ():
        if isinstance(extent, bytes):
            place = source.locate(ChunkKind.DATA, extent)
            if place is not None:
                return place.pack, place.block
    return b"", 0


def xattrs_of(source: ChunkSource, xattrs: tuple[Xattr, ...] | None) -> list[tuple[bytes, bytes]]:
    """Return the attributes with their values; raises IntegrityError, ObjectMissingError."""
    return [
        (each.name, read_value(source, each.chunks) if each.chunks is not None else each.value or b"")
        for each in xattrs or ()
    ]
