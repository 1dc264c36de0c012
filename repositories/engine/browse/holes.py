"""Sparse files in an archive: which parts are written out, and the map that tells where they belong.

Owns the layout of the format "GNU sparse 1.0": a map in text, filled up to a block, then the parts one after another.
Parts begin and end at multiples of a block, as readers expect; what that takes of a hole is written as zeros.
Everything is a stream: a file of any number of holes needs no memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from repositories.engine.browse.pax import BLOCK, padding
from repositories.engine.limits import KIB
from repositories.engine.restore.chunks import Piece

WORTHWHILE: Final = 64 * KIB
"""Shorter holes are written as zeros: they cost less than their line in the map."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a sparse file lies in an archive; all in bytes."""

    parts: int
    map_bytes: int
    data_bytes: int

    @property
    def size(self) -> int:
        """What it takes in the archive, its map included."""
        return self.map_bytes + len(padding(self.map_bytes)) + self.data_bytes


def holes(pieces: Iterable[Piece], size: int) -> Iterator[Span]:
    """Yield (start, end) of the holes that are left out, in order; touching ones are one."""
    position = start = 0
    inside = False
    for piece in pieces:
        if piece.chunk is None and not inside:
            start, inside = position, True
        elif piece.chunk is not None and inside:
            inside = False
            yield from _aligned(start, position, size)
        position += piece.length
    if inside:
        yield from _aligned(start, position, size)


def _aligned(start: int, end: int, size: int) -> Iterator[Span]:
    start += -start % BLOCK
    if end < size:
        end -= end % BLOCK
    if end - start >= WORTHWHILE:
        yield start, end


def parts(left_out: Iterable[Span], size: int) -> Iterator[Span]:
    """Yield (start, length) of what is written; a file that ends in a hole has an empty part at its end."""
    position = 0
    for start, end in left_out:
        if start > position:
            yield position, start - position
        position = end
    if position < size or not position:
        yield position, size - position
    else:
        yield size, 0


def layout(written: Iterable[Span]) -> Layout:
    """Return how much map and data of these parts there will be."""
    count = map_bytes = data_bytes = 0
    for start, length in written:
        count += 1
        map_bytes += len(_line(start)) + len(_line(length))
        data_bytes += length
    return Layout(count, len(_line(count)) + map_bytes, data_bytes)


def map_lines(plan: Layout, written: Iterable[Span]) -> Iterator[bytes]:
    """Yield the map, filled up to a block."""
    yield _line(plan.parts)
    for start, length in written:
        yield _line(start) + _line(length)
    yield padding(plan.map_bytes)


def _line(number: int) -> bytes:
    return b"%d\n" % number
