"""The chunks of content that a check has found: four bytes for each place of an index.

Owns remembering what was asked for already, by kind: a chunk of another kind than the one that a backup names it as
cannot be read by a restore.
"""

from array import array
from typing import Final, Protocol

from repositories.engine.ids import ChunkKind

_KIND_SHIFT: Final = 28
_LENGTH_MASK: Final = (1 << _KIND_SHIFT) - 1  # a chunk has at most 2**24 bytes


class Ordinals(Protocol):
    """An index that numbers chunks."""

    def present(self, chunk_id: bytes) -> int | None:
        """Return the number that stands for a chunk, None for one that has none."""


class FoundChunks:
    """Kinds and lengths of chunks. Those without a number in the index (damaged ones there) are kept by their ids."""

    def __init__(self, index: Ordinals) -> None:
        self._index = index
        self._found = array("I")
        self._others: dict[tuple[ChunkKind, bytes], int] = {}
        self.count = 0

    def length(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        """Return the length of a chunk that was added as one of this kind, else None."""
        ordinal = self._index.present(chunk_id)
        if ordinal is None:
            return self._others.get((kind, chunk_id))
        found = self._found[ordinal] if ordinal < len(self._found) else 0
        return (found & _LENGTH_MASK) - 1 if found >> _KIND_SHIFT == kind else None

    def add(self, kind: ChunkKind, chunk_id: bytes, length: int) -> None:
        """Add a chunk that was not there; it must not be longer than a chunk can be."""
        self.count += 1
        ordinal = self._index.present(chunk_id)
        if ordinal is None:
            self._others[kind, chunk_id] = length
            return
        while ordinal >= len(self._found):
            self._found.frombytes(bytes(4 * max(4096, len(self._found))))
        self._found[ordinal] = kind << _KIND_SHIFT | length + 1

    def __contains__(self, chunk_id: object) -> bool:
        """Tell whether a chunk was added, of whichever kind."""
        if not isinstance(chunk_id, bytes):
            return False
        ordinal = self._index.present(chunk_id)
        if ordinal is None:
            return any((kind, chunk_id) in self._others for kind in ChunkKind)
        return ordinal < len(self._found) and self._found[ordinal] != 0
