"""Copying between related repositories: ids stay, so only what the target lacks is read, block by block.

Owns the order of reading, and which blocks go over as they are: those that are wholly needed are opened, proven, and
sealed anew without being compressed again.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Protocol

from repositories.engine.copying.origin import Origin
from repositories.engine.copying.session import CopySession
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.packs.directory import PackClass

Need = tuple[int, ChunkKind]


class Presence(Protocol):
    """Whoever can tell what the target holds."""

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        """Tell whether a chunk counts as stored."""

    def fits(self, kind: ChunkKind, chunk_id: bytes, length: int) -> bool:
        """Tell whether one that counts as stored is of this kind and length."""


def lacking(origin: Origin, named: tuple[Sequence[int], bytes | bytearray], target: Presence) -> list[Need]:
    """Return the chunks of `named` (ordinals, kinds) that the target lacks, in the order in which they lie.

    Asks for each of them, so that a commit in a session verifies those that are there. What is there is not read: the
    origin's index must say of it what the target knows, or the copy might be one that nobody can restore. Raises
    IntegrityError.
    """
    index = origin.index
    found: array[int] = array("Q")
    for ordinal, kind in zip(*named, strict=True):
        chunk_id = index.id_at(ordinal)
        if not target.has(ChunkKind(kind), chunk_id):
            found.append(ordinal << 2 | kind)
        elif not target.fits(ChunkKind(kind), chunk_id, index.length_at(ordinal)):
            raise IntegrityError(
                f"chunk {chunk_id.hex()} is another one than the index says", hint="run check on the origin"
            )
    return [(each >> 2, ChunkKind(each & 3)) for each in sorted(found)]


def bytes_of(origin: Origin, needs: Sequence[Need]) -> int:
    """Return how much content these chunks are, before compression."""
    return sum(origin.index.length_at(ordinal) for ordinal, _ in needs)


def carry_over(origin: Origin, needs: Sequence[Need], session: CopySession) -> None:
    """Read what is needed and put it into the target. Raises IntegrityError or ObjectMissingError for what is damaged.

    Also raises what poisoned the target's session.
    """
    for pack, position, those in _by_block(origin, needs):
        if not those:
            continue
        if len(those) == position[2] and _reseal(origin, (pack, position[0]), session):
            continue
        for ordinal, kind in those:
            session.put(kind, origin.read(kind, origin.index.id_at(ordinal)))


def _reseal(origin: Origin, place: tuple[int, int], session: CopySession) -> bool:
    """Hand a whole block over; False if it is damaged: its chunks may be whole in other places."""
    pack, position = place
    try:
        block = origin.read_whole(pack, position)
    except (IntegrityError, ObjectMissingError):
        return False
    session.put_block(PackClass(origin.index.packs[pack].pack_class), block)
    return True


def _by_block(origin: Origin, needs: Sequence[Need]) -> Iterator[tuple[int, tuple[int, int, int], list[Need]]]:
    """Yield (number of the pack, (position, first ordinal, chunks of the block), what is needed of it)."""
    at = 0
    while at < len(needs):
        pack = origin.index.pack_at(needs[at][0])
        for position, (first, end, _) in enumerate(origin.index.blocks_of(pack)):
            begin = at
            while at < len(needs) and needs[at][0] < end:
                at += 1
            yield pack, (position, first, end - first), list(needs[begin:at])
