"""Which place of each used chunk stays, and what that makes of the packs. Pure: arrays in, values out.

Owns the counting by place: of a chunk that lies in several packs, or several times in one, a single place is used and
all others are garbage, however many backups name it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from repositories.engine.prune.compact import CompactIndex

Rank = tuple[int, float, int]


@dataclass(frozen=True, slots=True)
class PackState:
    """What is known of a pack besides its chunks: a lower `rank` is chosen first, then the fuller, the longer pack.

    Not there (or swept) < damaged < about to go < good: the ranks are 3, 2, 1, 0.
    """

    rank: int = 0
    bad: frozenset[bytes] = frozenset()


class Choice:
    """The chosen places, for the states that packs have now."""

    def __init__(self, index: CompactIndex, is_used: Callable[[int], bool], states: Mapping[bytes, PackState]) -> None:
        self._index = index
        self._states = [states.get(pack.pack_id, PackState()) for pack in index.packs]
        self.kept = bytearray(len(index))
        self._fullness = [self._share_used(number, is_used) for number in range(len(index.packs))]
        for ordinal in range(len(index)):
            if index.standing(ordinal) == ordinal and is_used(ordinal):
                self.kept[self._best(ordinal)] = 1

    def kept_in(self, number: int) -> int:
        """Return how many chosen places a pack has."""
        pack = self._index.packs[number]
        return self.kept.count(1, pack.first, pack.end)

    def used_bytes(self, number: int) -> int:
        """Return how many bytes of a pack its chosen places take: 0 only if there are none."""
        index, pack = self._index, self._index.packs[number]
        count = self.kept_in(number)
        if count in (0, pack.end - pack.first):
            return pack.length if count else 0
        used = total = 0.0
        for first, end, part in index.blocks_of(number):
            lengths = [index.length_at(ordinal) for ordinal in range(first, end)]
            chosen = sum(index.length_at(ordinal) for ordinal in range(first, end) if self.kept[ordinal])
            used += part * chosen / max(sum(lengths), 1)
            total += part
        return max(1, min(pack.length, int(pack.length * used / max(total, 1.0))))

    def _best(self, standing: int) -> int:
        places = list(self._index.places(standing))
        return places[0] if len(places) == 1 else min(places, key=self._rank)

    def _rank(self, ordinal: int) -> Rank:
        number = self._index.pack_at(ordinal)
        state = self._states[number]
        damaged = bool(state.bad) and self._index.id_at(ordinal) in state.bad
        rank = max(state.rank, 2 if damaged else 0)
        return rank, -self._fullness[number], -self._index.packs[number].length

    def _share_used(self, number: int, is_used: Callable[[int], bool]) -> float:
        pack = self._index.packs[number]
        used = {
            standing for ordinal in range(pack.first, pack.end) if is_used(standing := self._index.standing(ordinal))
        }
        return len(used) / max(pack.end - pack.first, 1)
