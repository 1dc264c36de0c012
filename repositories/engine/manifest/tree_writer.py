"""Writes pages of pages: leaves come in order, lists of them grow to any height, one top comes out.

Owns cutting of lists. What a leaf holds is decided by its caller. Memory: one page per level.
"""

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.entries import StreamRef, encode
from repositories.engine.manifest.pages import PAGE_LIMIT, PAGE_MIN, PAGE_TARGET_MAX, PageRef, encode_list, hits


class _Level(msgspec.Struct):
    refs: list[PageRef] = msgspec.field(default_factory=list)
    size: int = 0
    closed: int = 0


class TreeWriter:
    """Puts leaves and the lists above them into `sink` as chunks of one kind."""

    def __init__(self, sink: ChunkSink, kind: ChunkKind) -> None:
        self._sink = sink
        self._kind = kind
        self._levels: list[_Level] = []

    def add_leaf(self, data: bytes, count: int, length: int, first: tuple[bytes, bytes] | None = None) -> None:
        """Put one leaf; `first` is the key of its first entry."""
        directory, name = first if first is not None else (None, None)
        self._add(0, PageRef(self._put(data), count, length, directory, name))

    def add_known_leaf(self, page_id: bytes, count: int, first: tuple[bytes, bytes]) -> None:
        """Add a leaf that is stored already."""
        self._add(0, PageRef(page_id, count, 0, *first))

    def copy(self) -> "TreeWriter":
        """Return a writer of the same state, to be finished while this one goes on."""
        twin = TreeWriter(self._sink, self._kind)
        twin._levels = [_Level(list(level.refs), level.size, level.closed) for level in self._levels]
        return twin

    def finish(self) -> StreamRef | None:
        """Close every level; return the top, or None when there was no leaf."""
        level = 0
        while level < len(self._levels):
            refs = self._levels[level].refs
            if self._levels[level].closed == 0 and len(refs) == 1:
                return StreamRef(refs[0].id, level, refs[0].count, refs[0].length)
            if refs:
                self._close(level)
            level += 1
        return None

    def _put(self, data: bytes) -> bytes:
        if len(data) > PAGE_LIMIT:
            raise IntegrityError(f"a manifest page of {len(data)} bytes would pass the limit of {PAGE_LIMIT}")
        return self._sink.put(self._kind, data)[0]

    def _add(self, index: int, ref: PageRef) -> None:
        if index == len(self._levels):
            self._levels.append(_Level())
        level = self._levels[index]
        size = len(encode(ref))
        # Two at least: a list of one would let the tree grow for ever without getting narrower.
        if len(level.refs) >= 2 and level.size + size > PAGE_TARGET_MAX:
            self._close(index)
        level.refs.append(ref)
        level.size += size
        if level.size >= PAGE_MIN and len(level.refs) >= 2 and hits(ref.id):
            self._close(index)

    def _close(self, index: int) -> None:
        level = self._levels[index]
        refs, level.refs, level.size = level.refs, [], 0
        level.closed += 1
        top = PageRef(
            self._put(encode_list(index + 1, refs)),
            sum(ref.count for ref in refs),
            sum(ref.length for ref in refs),
            refs[0].directory,
            refs[0].name,
        )
        self._add(index + 1, top)
