"""Pages of many backups at once: what two backups share is read, decoded and searched once.

Owns the memory of what was found in which page, and the checks of order within each backup. A page's content follows
from its id, so that what was found in it once holds for every backup. Memory: a few hundred bytes for each different
page, and the matches of the pages used last.
"""

import collections
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from repositories.engine.browse.criteria import Matches
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.page_order import Key, PageOrder, check_count, check_list, key_of
from repositories.engine.manifest.pages import LEVEL_LIMIT, PageRef, decode_list

Match = tuple[Key, Entry]
_MATCHES_KEPT: Final = 50_000
_LISTS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class _Leaf:
    """What a leaf holds: its keys from `first` to `last`, and what matched."""

    first: Key
    last: Key
    count: int
    matches: tuple[Match, ...]


class SharedPages:
    """Searches the backups of one source. Used by one thread; the streams may be read in any order."""

    def __init__(self, source: ChunkSource, matches: Matches) -> None:
        self.lost: dict[bytes, int] = {}
        """Entries that lie in pages which cannot be read, by the top page of their backup."""
        self._source = source
        self._matches = matches
        self._barren: dict[bytes, _Leaf | None] = {}
        self._fruitful: collections.OrderedDict[bytes, _Leaf] = collections.OrderedDict()
        self._held = 0
        self._lists: collections.OrderedDict[bytes, list[PageRef]] = collections.OrderedDict()

    def stream(self, top: StreamRef) -> Iterator[Match]:
        """Yield the matches of one backup in the order of its keys. Raises IntegrityError on any disorder.

        What a page that cannot be read held is counted in `lost`.
        """
        if not 0 <= top.level <= LEVEL_LIMIT:
            raise IntegrityError(f"a manifest claims {top.level} levels of pages")
        order = PageOrder()
        last: Key | None = None
        stack = [(PageRef(top.id, top.count, top.length), top.level)]
        while stack:
            page, level = stack.pop()
            order.enter(page, leaf=level == 0)
            if level > 0:
                refs = self._list(page, level)
                if refs is None:
                    order.lost(page)
                    self._lose(top, page)
                    continue
                check_list(page, refs, len(stack))
                stack.extend((ref, level - 1) for ref in reversed(refs))
                continue
            leaf = self._leaf(page)
            if leaf is None:
                self._lose(top, page)
                continue
            last = _check_leaf(page, leaf, last)
            yield from leaf.matches

    def _lose(self, top: StreamRef, page: PageRef) -> None:
        self.lost[top.id] = self.lost.get(top.id, 0) + page.count

    def _list(self, page: PageRef, level: int) -> list[PageRef] | None:
        refs = self._lists.get(page.id)
        if refs is None:
            try:
                refs = decode_list(self._source.read(ChunkKind.PAGE, page.id), level)
            except (IntegrityError, ObjectMissingError):
                return None
            self._lists[page.id] = refs
            if len(self._lists) > _LISTS_KEPT:
                self._lists.popitem(last=False)
        return refs

    def _leaf(self, page: PageRef) -> _Leaf | None:
        if page.id in self._barren:
            return self._barren[page.id]
        known = self._fruitful.get(page.id)
        if known is not None:
            self._fruitful.move_to_end(page.id)
            return known
        leaf = self._search(page)
        if leaf is None or not leaf.matches:
            self._barren[page.id] = leaf
            return leaf
        self._fruitful[page.id] = leaf
        self._held += len(leaf.matches)
        while self._held > _MATCHES_KEPT and len(self._fruitful) > 1:
            self._held -= len(self._fruitful.popitem(last=False)[1].matches)
        return leaf

    def _search(self, page: PageRef) -> _Leaf | None:
        first: Key | None = None
        last: Key = (b"", b"")
        count = 0
        found: list[Match] = []
        try:
            for listing in read_listings(self._source, StreamRef(page.id, 0, page.count, 0)):
                key = directory_key(listing.directory)
                first = first or (key, listing.entries[0][0].name)
                last = (key, listing.entries[-1][0].name)
                count += len(listing.entries)
                found += [
                    ((key, entry.name), entry)
                    for entry, _ in listing.entries
                    if self._matches(listing.directory, entry)
                ]
        except (IntegrityError, ObjectMissingError):
            return None
        return _Leaf(first or last, last, count, tuple(found))


def _check_leaf(page: PageRef, leaf: _Leaf, last: Key | None) -> Key:
    """Return the last key of a leaf; raises IntegrityError unless it follows `last` and is what its list says."""
    check_count(page, leaf.count)
    if page.directory is not None and key_of(page) != leaf.first:
        raise IntegrityError(f"manifest page {page.id.hex()} begins with another entry than the list above it says")
    if last is not None and leaf.first <= last:
        raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")
    return leaf.last
