"""Collects the content of one file as extents, and turns to a stream when there are many.

Owns merging of holes and the limit of 32. One collector per file and try.
"""

from collections.abc import Iterable

from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.entries import INLINE_EXTENTS, Extent, StreamRef
from repositories.engine.manifest.streams import StreamWriter


class ExtentCollector:
    """Takes chunks and holes in file order; `length` is the content so far."""

    def __init__(self, sink: ChunkSink) -> None:
        self._sink = sink
        self._inline: list[tuple[int, bytes | None]] = []
        self._stream: StreamWriter | None = None
        self._hole = 0
        self.length = 0

    def add_chunk(self, chunk_id: bytes, length: int) -> None:
        """Add a stored chunk."""
        self._end_hole()
        self._add(length, chunk_id)
        self.length += length

    def add_hole(self, length: int) -> None:
        """Add zeros that are not stored; neighbours become one."""
        self._hole += length
        self.length += length

    def go_on_from(self, known: Iterable[tuple[int, bytes | None]]) -> None:
        """Begin with what is known already: pairs of length and chunk id, None for a hole."""
        for length, chunk_id in known:
            if chunk_id is None:
                self.add_hole(length)
            else:
                self.add_chunk(chunk_id, length)

    def snapshot(self) -> StreamRef | None:
        """Put what there is so far as a stream, whatever its length, and go on; a hole that is open is left out."""
        if self._stream is not None:
            return self._stream.snapshot()
        stream = StreamWriter(self._sink)
        for extent in self._inline:
            stream.add_extent(*extent)
        return stream.finish()

    def finish(self) -> tuple[tuple[Extent, ...] | None, StreamRef | None]:
        """Return (inline extents, None) or (None, stream); both None for no content."""
        self._end_hole()
        if self._stream is not None:
            return None, self._stream.finish()
        if not self._inline:
            return None, None
        return tuple(length if chunk is None else chunk for length, chunk in self._inline), None

    def _end_hole(self) -> None:
        if self._hole:
            self._add(self._hole, None)
            self._hole = 0

    def _add(self, length: int, chunk_id: bytes | None) -> None:
        if self._stream is not None:
            self._stream.add_extent(length, chunk_id)
            return
        self._inline.append((length, chunk_id))
        if len(self._inline) > INLINE_EXTENTS:
            self._stream = StreamWriter(self._sink)
            for extent in self._inline:
                self._stream.add_extent(*extent)
            self._inline = []
