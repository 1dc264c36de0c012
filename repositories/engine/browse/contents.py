"""The content of one file as a stream: its bytes, its holes, and whether all of it can be read.

Owns the reading, a few chunks ahead. Every chunk is verified; one of another length than its place says is refused.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from repositories.engine.browse.holes import Layout, holes, layout, map_lines, parts
from repositories.engine.errors import IntegrityError
from repositories.engine.limits import KIB, MIB
from repositories.engine.manifest.entries import Entry
from repositories.engine.restore.chunks import AnyChunks, Piece, content_of, read_piece

Data = bytes | memoryview
Emit = Callable[[Data], object]
"""Takes the next bytes of what is put out; what it returns does not matter."""

HELD: Final = 4 * MIB
_AHEAD: Final = 4
_ZEROS: Final = bytes(64 * KIB)


@dataclass(frozen=True, slots=True)
class Contents:
    """One file. `readers` read its chunks ahead."""

    source: AnyChunks
    entry: Entry
    readers: ThreadPoolExecutor

    def plan(self) -> Layout:
        """Return how it lies in an archive. Raises IntegrityError, ObjectMissingError where its list is not whole."""
        return layout(self._parts())

    def lines(self, plan: Layout) -> Iterator[bytes]:
        """Yield the map of a sparse file."""
        return map_lines(plan, self._parts())

    def read(self) -> Iterator[tuple[Piece, Data | None]]:
        """Yield the pieces in order with their data, None for a hole. Raises IntegrityError, ObjectMissingError."""
        return self._loaded(self.pieces())

    def part(self, span: range) -> Iterator[tuple[int, Data | None]]:
        """Yield (length, data, or None for a hole) of the bytes in `span`; a chunk that has none of them is not read.

        Raises as `read` does.
        """
        begun: deque[int] = deque()
        for piece, data in self._loaded(self._touched(span, begun)):
            begins = begun.popleft()
            start, stop = max(0, span.start - begins), min(piece.length, span.stop - begins)
            yield stop - start, None if data is None else memoryview(data)[start:stop]

    def _touched(self, span: range, begun: deque[int]) -> Iterator[Piece]:
        """Yield the pieces that have bytes of `span`; where each begins is put into `begun`."""
        begins = 0
        for piece in self.pieces():
            if begins >= span.stop:
                break
            if begins + piece.length > span.start:
                begun.append(begins)
                yield piece
            begins += piece.length

    def _loaded(self, pieces: Iterator[Piece]) -> Iterator[tuple[Piece, Data | None]]:
        ahead: deque[tuple[Piece, Future[Data] | None]] = deque()
        try:
            for piece in pieces:
                ahead.append((piece, self.readers.submit(self._read, piece) if piece.chunk is not None else None))
                if len(ahead) > _AHEAD:
                    yield _taken(*ahead.popleft())
            while ahead:
                yield _taken(*ahead.popleft())
        finally:
            for _, loading in ahead:
                if loading is not None:
                    loading.cancel()

    def without_holes(self) -> Iterator[tuple[int, Data | None]]:
        """Yield (length, data, or None for zeros) of what lies in an archive: what `holes` leaves out is left out."""
        left_out = holes(self.pieces(), self.entry.size)
        span = next(left_out, None)
        position = 0
        for piece, data in self.read():
            if data is not None:
                yield piece.length, data
                position += piece.length
                continue
            end = position + piece.length
            zeros = piece.length
            while span is not None and span[0] < end:
                zeros -= min(span[1], end) - max(span[0], position)
                if span[1] > end:
                    break
                span = next(left_out, None)
            position = end
            if zeros:
                yield zeros, None

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces; raises IntegrityError, ObjectMissingError."""
        return content_of(self.source, self.entry)

    def _parts(self) -> Iterator[tuple[int, int]]:
        return parts(holes(self.pieces(), self.entry.size), self.entry.size)

    def _read(self, piece: Piece) -> Data:
        assert piece.chunk is not None  # noqa: S101 — holes are not read
        assert piece.place is not None  # noqa: S101
        data = read_piece(self.source, piece.chunk, piece.place)
        if len(data) != piece.length:
            raise IntegrityError("a chunk has another length than its place says", hint="run check")
        return data


def emit_zeros(emit: Emit, count: int) -> None:
    """Put out `count` zeros."""
    while count > 0:
        emit(_ZEROS[:count])
        count -= len(_ZEROS)


def _taken(piece: Piece, loading: "Future[Data] | None") -> tuple[Piece, Data | None]:
    return piece, loading.result() if loading is not None else None
