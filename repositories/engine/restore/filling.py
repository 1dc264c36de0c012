"""Fills a file that was just created: content by extents, then attributes. By descriptor alone.

Owns what a complete file is, for whoever made it and under whatever name. Safe in several threads.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, Protocol

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.entries import Entry
from repositories.engine.metadata.apply import Attributes, ReportAttribute, apply_to_descriptor, remove_inherited_acls
from repositories.engine.restore.chunks import AnyChunks, Piece, Place, announced, content_of, read_piece, xattrs_of
from repositories.engine.restore.directories import Surroundings

_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AHEAD: Final = 4

Data = bytes | memoryview


class FileTask(msgspec.Struct, frozen=True):
    """One file to write. `around` is about its directory.

    Made for every file, as are the other structs here: a frozen dataclass takes ten times as long to make.
    `first` is where its first chunk lies, if that is known; `readers` read a large file ahead. `untold` = a process of
    this restore was to write it, and died before it told what it did.
    """

    directory: int
    path: bytes
    entry: Entry
    around: Surroundings
    first: Place | None = None
    readers: ThreadPoolExecutor | None = None
    untold: bool = False


def by_place(task: FileTask) -> tuple[bytes, int, int]:
    """Return what files are sorted by, so that each block is wanted by neighbours."""
    place = task.first
    return (place.pack, place.block, place.offset) if place is not None else (b"", 0, 0)


class FillingTally(Protocol):
    """What is told of files that are being filled."""

    def wrote(self, count: int) -> None:
        """Content went to the target."""

    def reporter(self, place: int, path: bytes, /) -> ReportAttribute:
        """Return what is told of attributes that one object could not be given."""


class Filler:
    """Fills the files of one restore; `taken` is told of content before it is written (bandwidth, cancel).

    `go_on` is called before content is read, and raises where that would be for nothing: far away it takes long.
    """

    def __init__(
        self, source: AnyChunks, tally: FillingTally, taken: Callable[[int], None], go_on: Callable[[], None]
    ) -> None:
        self._source = source
        self._go_on = go_on
        self._tally = tally
        self._taken = taken

    def fill(self, descriptor: int, task: FileTask) -> None:
        """Give an empty open file its content and attributes.

        Raises IntegrityError, ObjectMissingError, OSError, errors of the repository's medium, and what is raised by
        `taken` and `go_on`.
        """
        self._write_content(descriptor, task)
        if task.around.inherits:
            remove_inherited_acls(descriptor)
        attributes = attributes_of(self._source, task.entry)
        apply_to_descriptor(descriptor, attributes, self._tally.reporter(descriptor, task.path))

    def _write_content(self, descriptor: int, task: FileTask) -> None:
        position = written_to = written = 0
        for piece, loading in self._load(task):
            if loading is not None:
                data = loading.result() if isinstance(loading, Future) else loading
                if data is None or len(data) != piece.length:
                    raise IntegrityError("a chunk has another length than its place says", hint="run check")
                self._taken(piece.length)
                _write_all(descriptor, data, position)
                written_to = position + piece.length
                written += piece.length
            else:
                self._taken(0)  # a file may claim more holes than anybody waits for: a cancel ends it
            position += piece.length
        self._tally.wrote(written)
        if position > written_to:
            os.ftruncate(descriptor, position)

    def _load(self, task: FileTask) -> Iterator[tuple[Piece, Future[Data | None] | Data | None]]:
        """Yield the pieces with their data; with readers, a few of them are being read ahead."""
        pieces = content_of(self._source, task.entry, task.first)
        if task.readers is not None and self._source.far:
            pieces = announced(self._source, pieces)
        if task.readers is None:
            for piece in pieces:
                yield piece, self._read(piece)
            return
        ahead: deque[tuple[Piece, Future[Data | None] | None]] = deque()
        for piece in pieces:
            ahead.append((piece, task.readers.submit(self._read, piece) if piece.chunk is not None else None))
            if len(ahead) > _AHEAD:
                yield ahead.popleft()
        yield from ahead

    def _read(self, piece: Piece) -> Data | None:
        if piece.chunk is None or piece.place is None:
            return None
        self._go_on()
        return read_piece(self._source, piece.chunk, piece.place)


def attributes_of(source: AnyChunks, entry: Entry) -> Attributes:
    """Return what to set on a restored object; raises IntegrityError, ObjectMissingError for long attribute values."""
    return Attributes(entry.mode, entry.uid, entry.gid, entry.mtime_ns, xattrs_of(source, entry.xattrs))


def create(directory: int, name: bytes, mode: int) -> int:
    """Create a file in an open directory and return its descriptor. Raises FileExistsError, OSError."""
    return os.open(name, _CREATE, mode, dir_fd=directory)


def _write_all(descriptor: int, data: Data, position: int) -> None:
    count = os.pwrite(descriptor, data, position)
    while count < len(data):
        data = memoryview(data)[count:]
        position += count
        count = os.pwrite(descriptor, data, position)
