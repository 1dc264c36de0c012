"""A place in the pages of a backup, which goes on by entries, or by whole pages where another backup has the same.

Owns the going, and the checks that what a list of pages claims is what they hold. Memory: one page per level.
"""

from collections import deque

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.order import directory_key, is_within
from repositories.engine.manifest.page_order import Key, PageOrder, check_first, check_list
from repositories.engine.manifest.pages import LEVEL_LIMIT, PageRef, decode_list


class PageCursor:
    """Stands before a page or an entry of what lies below `within`; used by one thread."""

    def __init__(self, source: ChunkSource, top: StreamRef | None, within: bytes = b"") -> None:
        self._source = source
        self._within = within
        self._start = (directory_key(within), b"")
        self._last: Key = (b"", b"")
        self._order = PageOrder()
        self._entries: deque[tuple[bytes, Entry]] = deque()
        self._pages: list[tuple[PageRef, int]] = []
        if top is not None:
            if not 0 <= top.level <= LEVEL_LIMIT:
                raise IntegrityError(f"a manifest claims {top.level} levels of pages")
            self._pages.append((PageRef(top.id, top.count, top.length), top.level))

    @property
    def level(self) -> int:
        """The level of the page that comes next, or -1 before an entry or at the end."""
        return self._pages[-1][1] if self._pages and not self._entries else -1

    def key(self) -> Key | None:
        """Return the key of what comes next (of a page: its first entry's, or less), or None at the end."""
        if self._entries:
            directory, entry = self._entries[0]
            return directory_key(directory), entry.name
        return _first(self._pages[-1][0]) if self._pages else None

    def take(self) -> tuple[bytes, Entry]:
        """Return (directory, entry) of what comes next; only where `level` is -1 and `key` not None."""
        return self._entries.popleft()

    def skip_with(self, other: "PageCursor") -> bool:
        """Pass over the page that comes next on both sides, if it is the same one; return whether it was."""
        if self.level < 0 or other.level < 0 or self._pages[-1][0].id != other._pages[-1][0].id:
            return False
        for side in (self, other):
            side._order.enter(side._pages.pop()[0], leaf=True)
        return True

    def open_page(self) -> bool:
        """Go into the page that comes next; False where an entry does. Raises IntegrityError, ObjectMissingError."""
        if self.level < 0:
            return False
        page, level = self._pages.pop()
        self._order.enter(page, leaf=level == 0)
        if level == 0:
            self._open_leaf(page)
        else:
            self._open_list(page, level)
        return True

    def _open_list(self, page: PageRef, level: int) -> None:
        refs = decode_list(self._source.read(ChunkKind.PAGE, page.id), level)
        check_list(page, refs, len(self._pages))
        kept = [
            ref
            for index, ref in enumerate(refs)
            if not self._is_before(refs[index + 1] if index + 1 < len(refs) else None) and not self._is_behind(ref)
        ]
        self._pages.extend((ref, level - 1) for ref in reversed(kept))

    def _is_before(self, successor: PageRef | None) -> bool:
        return successor is not None and _first(successor) <= self._start

    def _is_behind(self, page: PageRef) -> bool:
        directory = page.directory or b""
        return directory_key(directory) > self._start[0] and not is_within(directory, self._within)

    def _open_leaf(self, page: PageRef) -> None:
        begun = False
        for listing in read_listings(self._source, StreamRef(page.id, 0, page.count, 0)):
            first = listing.entries[0][0]
            if not begun:
                # Its key was compared with the other backup's: it has to be true.
                check_first(page, listing.directory, first)
                if (directory_key(listing.directory), first.name) <= self._last:
                    raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")
            begun = True
            self._last = (directory_key(listing.directory), listing.entries[-1][0].name)
            if is_within(listing.directory, self._within):
                self._entries.extend((listing.directory, entry) for entry, _ in listing.entries)


def _first(page: PageRef) -> Key:
    return directory_key(page.directory or b""), page.name or b""
