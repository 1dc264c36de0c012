"""Reads some directories of a backup one after the other, without finding the way to each from the top.

Owns the choice between reading on and looking anew. The way to a path is a directory per component, and in a deep tree
most of those stand in one page.
"""

from collections.abc import Iterator
from typing import Final

from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.entry_reader import Listing, read_listings
from repositories.engine.manifest.order import directory_key

_NEAR: Final = 64
"""Listings that are read on for, before the directory is looked for from the top."""


class NearListings:
    """Give directories in manifest order, each once. Used by one thread. Memory: as a reader's, and one listing."""

    def __init__(self, source: ChunkSource, top: StreamRef | None) -> None:
        self._source = source
        self._top = top
        self._listings: Iterator[Listing] = iter(())
        self._ahead: Listing | None = None

    def entries_of(self, directory: bytes) -> Iterator[Entry]:
        """Yield the entries of a directory; must be read to its end. Raises IntegrityError, ObjectMissingError."""
        wanted = directory_key(directory)
        listing = self._first_from(directory, wanted)
        while listing is not None and directory_key(listing.directory) == wanted:
            yield from (entry for entry, _ in listing.entries)
            listing = next(self._listings, None)
        self._ahead = listing

    def _first_from(self, directory: bytes, wanted: bytes) -> Listing | None:
        listing, self._ahead = self._ahead, None
        for _ in range(_NEAR):
            if listing is None or directory_key(listing.directory) >= wanted:
                break
            listing = next(self._listings, None)
        if listing is not None and directory_key(listing.directory) >= wanted:
            return listing
        self._listings = read_listings(self._source, self._top, directory)
        return next((each for each in self._listings if directory_key(each.directory) >= wanted), None)
