"""Reads manifest pages and streams through the compact index.

Owns the few decoded blocks that are kept: pages of one backup lie beside each other.
"""

import collections

from repositories.engine.errors import EngineError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import Location
from repositories.engine.keys.keyring import Keyring
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.compact import CompactIndex

_BLOCKS_KEPT = 6


class PageReader:
    """A source of chunks for walks over manifests. One thread."""

    def __init__(self, index: CompactIndex, packs: PackReader, keyring: Keyring) -> None:
        self._index = index
        self._packs = packs
        self._keyring = keyring
        self._blocks: collections.OrderedDict[tuple[bytes, int], DecodedBlock] = collections.OrderedDict()

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        failure: EngineError | None = None
        for location in self._index.locations(kind, chunk_id):
            try:
                content = self._block(location).content[location.offset : location.offset + location.length]
            except (IntegrityError, ObjectMissingError) as error:
                failure = error
                continue
            if self._keyring.chunk_id(kind, content) == chunk_id:
                return content
            failure = IntegrityError(f"chunk {chunk_id.hex()} does not have the content of its id", hint="run check")
        raise failure or ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check")

    def _block(self, location: Location) -> DecodedBlock:
        key = (location.pack, location.block)
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = self._packs.read_block(location.place)
            if len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(key)
        return block
