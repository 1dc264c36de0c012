"""Which chunks of earlier sessions a session refers to, and finding them again after a prune has moved them.

Owns one byte for each place of the index: a session may refer to millions.
"""

from collections.abc import Iterable

from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.packs.directory import PackRecord


class References:
    """References into one index. `add` may be called from several threads, the rest from one."""

    def __init__(self, index: ChunkIndex) -> None:
        self._index = index
        self._referred = bytearray()

    def add(self, ordinal: int) -> None:
        """Remember that the chunk in a place is referred to."""
        # Each step is one operation of the interpreter: what another thread adds meanwhile is not lost.
        while ordinal >= len(self._referred):
            self._referred.extend(bytes(max(4096, len(self._referred))))
        self._referred[ordinal] = 1

    def packs(self) -> frozenset[bytes]:
        """Return the packs that hold what is referred to."""
        return self._index.packs_where(self._referred)

    def find_again(self, taken: frozenset[bytes], packs: Iterable[PackRecord]) -> int:
        """Count nothing in `taken` packs as stored any more, but what lies in `packs`; return how many are lost.

        A chunk that was referred to in a taken pack, and lies in another one, is from now on referred to there.
        """
        places = [(ordinal, chunk_id) for ordinal, chunk_id in self._index.places_in(taken) if self._has(ordinal)]
        self._index.distrust(taken)
        self._index.add(packs)
        lost = 0
        for _, chunk_id in places:
            elsewhere = self._index.present(chunk_id)
            if elsewhere is None:
                lost += 1
            else:
                self.add(elsewhere)
        return lost

    def _has(self, ordinal: int) -> bool:
        return ordinal < len(self._referred) and self._referred[ordinal] == 1
