"""Announces the pages of a backup that a walk comes to next: far away each of them would else cost a round trip.

Owns how far ahead. A hint: what is announced and not read after all costs room until something else needs it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource

BLOCKS_AHEAD: Final = 4
"""Blocks are of 1 to 2 MiB, and contents need most of the room."""
PAGES_AHEAD: Final = 64
_P = TypeVar("_P")

Ahead = Callable[[Iterable[bytes]], None]
"""Told of the ids of the next pages, in order, before each is read."""


class PlacedPages(Protocol[_P]):
    """The part of a chunk reader that knows where pages lie."""

    @property
    def far(self) -> bool:
        """Tell whether announcing what will be read helps."""

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> _P | None:
        """Return the place of a chunk, or None if no index names it."""

    def expect(self, locations: Iterable[_P]) -> None:
        """Let the blocks of these places be fetched ahead."""


class AnyPages(ChunkSource, PlacedPages[Any], Protocol):
    """Reads pages, and knows where they lie."""


def pages_ahead(source: PlacedPages[Any]) -> Ahead | None:
    """Return what announces pages of `source`, None for one that is near."""
    if not source.far:
        return None

    def announce(pages: Iterable[bytes]) -> None:
        blocks: dict[tuple[bytes, int], Any] = {}
        for page in pages:
            place = source.locate(ChunkKind.PAGE, page)
            if place is None:
                break  # the walk itself will tell
            blocks.setdefault((place.pack, place.block), place)
            if len(blocks) == BLOCKS_AHEAD:
                break
        source.expect(blocks.values())

    return announce
