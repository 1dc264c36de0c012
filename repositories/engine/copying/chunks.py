"""Reads single chunks by ordinal, the last few blocks kept: backups name chunks in the order in which they lie.

Owns those blocks. Every chunk is authenticated and hashed before anyone sees it.
"""

from dataclasses import dataclass
from itertools import accumulate

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.keys.keyring import Keyring
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.compact import CompactIndex

_BLOCKS_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Kept:
    """A decoded block whose chunks have the ordinals from `first` on, at these offsets."""

    first: int
    block: DecodedBlock
    offsets: tuple[int, ...]

    def holds(self, ordinal: int) -> bool:
        return self.first <= ordinal < self.first + len(self.block.table)


class ChunksByOrdinal:
    """A source of chunks. One thread."""

    def __init__(self, index: CompactIndex, packs: PackReader, keyring: Keyring) -> None:
        self._index = index
        self._packs = packs
        self._keyring = keyring
        self._kept: list[_Kept] = []

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        standing = self._index.find(chunk_id)
        failure: EngineError | None = None
        for ordinal in () if standing is None else self._index.places(standing):
            try:
                content = self._content(kind, ordinal)
            except (IntegrityError, ObjectMissingError) as error:
                failure = error
                continue
            if content is not None and self._keyring.chunk_id(kind, content) == chunk_id:
                return content
            failure = IntegrityError(f"chunk {chunk_id.hex()} does not have the content of its id", hint="run check")
        raise failure or ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check")

    def _content(self, kind: ChunkKind, ordinal: int) -> bytes | None:
        kept = next((each for each in reversed(self._kept) if each.holds(ordinal)), None)
        if kept is None:
            kept = self._load(ordinal)
            self._kept.append(kept)
            del self._kept[:-_BLOCKS_KEPT]
        position = ordinal - kept.first
        if kept.block.table.kinds[position] != kind:
            return None
        return kept.block.content[kept.offsets[position] : kept.offsets[position + 1]]

    def _load(self, ordinal: int) -> _Kept:
        pack = self._index.pack_at(ordinal)
        ends = enumerate(self._index.blocks_of(pack))
        position, first = next((number, first) for number, (first, end, _) in ends if ordinal < end)
        block = self._packs.read_block(self._index.place_of(pack, position))
        return _Kept(first, block, tuple(accumulate(block.table.lengths, initial=0)))
