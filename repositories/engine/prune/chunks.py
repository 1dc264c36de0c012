"""Reads single chunks through the compact index: a block is decoded once, and the last few are kept.

Owns the kept blocks. Backups name chunks in the order in which they lie, so that few will do, however small the chunks
are. Every chunk is authenticated and hashed before anyone sees it.
"""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.keys.keyring import Keyring
from repositories.engine.limits import MIB
from repositories.engine.packs.reader import PackReader
from repositories.engine.packs.table import table_layout
from repositories.engine.prune.compact import CompactIndex

KEPT_BYTES: Final = 16 * MIB
"""What the kept blocks take together, the last one aside: the limit of one block."""
_PER_CHUNK: Final = 5


@dataclass(frozen=True, slots=True)
class _Kept:
    """A decoded block whose chunks have the ordinals from `first` on."""

    first: int
    content: bytes
    kinds: bytes
    offsets: "array[int]"

    @property
    def size(self) -> int:
        return len(self.content) + _PER_CHUNK * len(self.kinds)


class ChunksByOrdinal:
    """A source of chunks. One thread."""

    def __init__(self, index: CompactIndex, packs: PackReader, keyring: Keyring) -> None:
        self._index = index
        self._packs = packs
        self._keyring = keyring
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._size = 0

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
        kept = self._block(self._index.block_at(ordinal))
        position = ordinal - kept.first
        if kept.kinds[position] != kind:
            return None
        return kept.content[kept.offsets[position] : kept.offsets[position + 1]]

    def _block(self, block: int) -> _Kept:
        kept = self._kept.get(block)
        if kept is not None:
            self._kept.move_to_end(block)
            return kept
        first, place = self._index.place_of_block(block)
        decoded = self._packs.read_block(place)
        kinds, offsets = table_layout(decoded.table_bytes)
        kept = self._kept[block] = _Kept(first, decoded.content, kinds, array("I", offsets))
        self._size += kept.size
        while self._size > KEPT_BYTES and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1].size
        return kept
