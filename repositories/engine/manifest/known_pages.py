"""The pages of an earlier backup as the next one reads them beside its walk: entries to compare with, in columns.

Owns decoding a page at a time, with the checks of `entry_reader`, and what lets a page be taken as a whole when all of
its entries are.
"""

import operator
from collections.abc import Iterator
from functools import cached_property

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, check_names, check_values
from repositories.engine.manifest.entry_reader import check_directory, decoded_listings, read_leaves
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.page_order import Key, check_count, check_first_name
from repositories.engine.manifest.pages import decode_entries, decode_leaf
from repositories.engine.manifest.pages_ahead import Ahead


class KnownPage:
    """One leaf: `data` is what it was stored as, its entries are numbered from 0 through all of its groups."""

    def __init__(self, page_id: bytes, data: bytes, groups: list[tuple[bytes, list[Entry]]]) -> None:
        self.id = page_id
        self.data = data
        self.groups = groups
        self.count = sum(len(entries) for _, entries in groups)

    @cached_property
    def raws(self) -> list[msgspec.Raw]:
        """The encoded entries, as they are in the page: with fields that only later versions know."""
        return [raw for _, raws in decode_leaf(self.data) for raw in raws]

    @property
    def first(self) -> tuple[bytes, bytes]:
        """Directory and name of the first entry."""
        directory, entries = self.groups[0]
        return directory, entries[0].name

    @property
    def last(self) -> tuple[bytes, bytes]:
        """Directory and name of the last entry."""
        directory, entries = self.groups[-1]
        return directory, entries[-1].name


Found = tuple[Entry, KnownPage, int]
"""An entry of an earlier backup, and where it stands: its page, its number there."""


class KnownListing(msgspec.Struct, frozen=True, gc=False):
    """A part of one directory's listing, as one page holds it; `begin` is the number of its first entry there."""

    directory: bytes
    key: bytes
    names: list[bytes]
    entries: list[Entry]
    page: KnownPage
    begin: int


def read_known(source: ChunkSource, top: StreamRef, ahead: Ahead | None = None) -> Iterator[KnownListing]:
    """Yield the listings below `top` in order. Raises IntegrityError or ObjectMissingError as `read_listings` does."""
    last: Key | None = None
    for data, ref in read_leaves(source, top, None, None, ahead):
        page = KnownPage(ref.id, data, _groups(data))
        seen = 0
        for directory, entries in page.groups:
            names = [entry.name for entry in entries]
            if not seen:
                check_first_name(ref, directory, names[0])
            last = _check(last, directory, names, entries)
            yield KnownListing(directory, last[0], names, entries, page, seen)
            seen += len(names)
        check_count(ref, seen)


def _groups(data: bytes) -> list[tuple[bytes, list[Entry]]]:
    try:
        return list(decode_entries(data))
    except IntegrityError:
        # Entry by entry, so that what is told names the one that is wrong.
        return [(directory, [entry for entry, _ in entries]) for directory, entries in decoded_listings(data)]


def _check(last: Key | None, directory: bytes, names: list[bytes], entries: list[Entry]) -> Key:
    """Return the last key of a group that follows `last`; raises IntegrityError where it cannot follow."""
    key = directory_key(directory)
    if last is not None and key < last[0]:
        raise IntegrityError(f"a manifest lists directory {directory[:80]!r} out of order")
    check_directory(directory)
    repeated = last is not None and key == last[0] and names[0] <= last[1]
    if repeated or not all(map(operator.lt, names, names[1:])):
        raise IntegrityError(f"a manifest lists names of directory {directory[:80]!r} twice or out of order")
    check_names(names)
    for entry in entries:
        if entry.target is not None or entry.xattrs is not None:
            check_values(entry)
    return key, names[-1]
