"""Gathering: new chunks collected into blocks of a random size, in the order they come.

Owns when a block is full. The random target keeps block sizes from telling what lies in them; a large chunk is a block
of its own and does not end the one being gathered.
"""

from repositories.engine.ids import Randomness
from repositories.engine.limits import MAX_CHUNKS_PER_PACK, MIB
from repositories.engine.packs.blocks import PendingChunk

_SMALLEST_TARGET = 1 * MIB
_TARGET_SPREAD = 1 * MIB
_MOST_CHUNKS = MAX_CHUNKS_PER_PACK // 4


class Gatherer:
    """Chunks of one pack class on their way into blocks. One thread at a time."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._chunks: list[PendingChunk] = []
        self._size = 0
        self._target = self._new_target()

    def add(self, chunk: PendingChunk) -> tuple[list[PendingChunk], int] | None:
        """Take a chunk; return a full block (chunks and their decoded size) if this one made it."""
        length = len(chunk.data)
        if length >= _SMALLEST_TARGET:
            return [chunk], length
        self._chunks.append(chunk)
        self._size += length
        if self._size >= self._target or len(self._chunks) >= _MOST_CHUNKS:
            return self.take()
        return None

    def take(self) -> tuple[list[PendingChunk], int] | None:
        """Return what is gathered as a block, or None if nothing is."""
        if not self._chunks:
            return None
        taken = self._chunks, self._size
        self._chunks, self._size, self._target = [], 0, self._new_target()
        return taken

    def _new_target(self) -> int:
        return _SMALLEST_TARGET + int.from_bytes(self._randomness(4), "big") % _TARGET_SPREAD
