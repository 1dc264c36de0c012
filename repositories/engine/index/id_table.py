"""Ids of one width, numbered in the order in which they were added, and the way back from an id to its numbers.

Owns the open addressing. A table is bytes and numbers of 4 bytes throughout: it takes width + 6 to 9 bytes an id, and
can be written to a file and read from there as it is.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.ids import system_randomness

_FIRST_SLOTS: Final = 64
_MODULUS_BITS: Final = 60


def _new_modulus() -> int:
    return int.from_bytes(system_randomness(8), "big") >> (64 - _MODULUS_BITS) | 1 << _MODULUS_BITS | 1


@dataclass(slots=True)
class IdTable:
    """Ids by number. One thread adds; others may look up meanwhile, and see what was entered.

    A place among the slots is the id's residue by a secret random `modulus`: nobody who writes to a repository can make
    ids that all want one slot. `others` are the further numbers of ids that were added several times, by the first one;
    `near` is where the id begins that follows the one found last.
    """

    width: int
    ids: bytearray = field(default_factory=bytearray)
    slots: "array[int]" = field(default_factory=lambda: array("I", bytes(4 * _FIRST_SLOTS)))
    modulus: int = field(default_factory=_new_modulus)
    others: dict[int, list[int]] = field(default_factory=dict)
    near: int = field(default=0, compare=False)

    def __len__(self) -> int:
        """Return how many ids were added, one that came twice counted twice."""
        return len(self.ids) // self.width

    def find(self, wanted: bytes) -> int | None:
        """Return the first number of an id, or None."""
        slots, ids, width = self.slots, self.ids, self.width
        at = int.from_bytes(wanted, "big") % self.modulus % len(slots)
        while number := slots[at]:
            end = number * width
            if ids[end - width : end] == wanted:
                return number - 1
            at = at + 1 if at + 1 < len(slots) else 0
        return None

    def find_near(self, wanted: bytes) -> int | None:
        """Return what `find` returns; cheapest for who asks in the order in which ids were added, each once."""
        near = self.near  # read once: other threads ask, too
        end = near + self.width
        if self.ids[near:end] == wanted and not self.others:
            self.near = end
            return end // self.width - 1
        number = self.find(wanted)
        if number is not None:
            self.near = (number + 1) * self.width
        return number

    def numbers(self, wanted: bytes) -> Iterator[int]:
        """Yield all numbers of an id, in the order in which they were given."""
        first = self.find(wanted)
        if first is not None:
            yield first
            yield from self.others.get(first, ())

    def at(self, number: int) -> bytes:
        """Return the id with this number."""
        return bytes(self.ids[number * self.width : (number + 1) * self.width])

    def between(self, first: int, end: int) -> Iterator[bytes]:
        """Yield the ids with these numbers."""
        for at in range(first * self.width, end * self.width, self.width):
            yield bytes(self.ids[at : at + self.width])

    def extend(self, ids: bytes | memoryview) -> None:
        """Add ids that follow each other in `ids`."""
        first = len(self)
        self.ids += ids
        if 3 * len(self) > 2 * len(self.slots):
            self._grow(first, max(len(self.slots) * 3 // 2, _room_for(len(self))))
        self._enter(self.slots, range(first, len(self)))

    def reserve(self, more: int) -> None:
        """Make room for so many further ids at once, which takes less time and memory than growing with them."""
        size = _room_for(len(self) + more)
        if size > len(self.slots):
            self._grow(len(self), size)

    def copy(self) -> "IdTable":
        """Return a table of the same ids that can be added to by itself."""
        others = {first: list(numbers) for first, numbers in self.others.items()}
        return IdTable(self.width, bytearray(self.ids), array("I", self.slots), self.modulus, others)

    def _grow(self, entered: int, size: int) -> None:
        # Filled before it takes the place of the other, for those who look up meanwhile.
        slots = array("I", bytes(4 * size))
        further = {number for numbers in self.others.values() for number in numbers}
        self._enter(slots, (number for number in range(entered) if number not in further))
        self.slots = slots

    def _enter(self, slots: "array[int]", numbers: Iterable[int]) -> None:
        ids, width, modulus, others = self.ids, self.width, self.modulus, self.others
        size = len(slots)
        for number in numbers:
            wanted = ids[number * width : (number + 1) * width]
            at = int.from_bytes(wanted, "big") % modulus % size
            while found := slots[at]:
                if ids[(found - 1) * width : found * width] == wanted:
                    others.setdefault(found - 1, []).append(number)
                    break
                at = at + 1 if at + 1 < size else 0
            else:
                slots[at] = number + 1


def _room_for(ids: int) -> int:
    """Return how many slots are to be made for so many ids: three of five are taken then."""
    return 5 * ids // 3 + 1
