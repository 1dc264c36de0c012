"""Writes the entries of a backup as pages, in manifest order.

Owns where a leaf of entries is cut, and refuses disorder and duplicates: a manifest that breaks the order is
never written. A leaf of an earlier backup all of whose entries are taken again, and nothing between them, is taken as
it is stored. Memory: one leaf, one of an earlier backup, and the lists above.
"""

from collections.abc import Callable

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.entries import StreamRef, check_name
from repositories.engine.manifest.known_pages import Found, KnownPage
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages import (
    PAGE_MIN,
    PAGE_TARGET_MAX,
    Group,
    encode_leaf,
    hits,
    shared_prefix,
)
from repositories.engine.manifest.tree_writer import TreeWriter

_GROUP_COST = 16


class EntryWriter:
    """Call `open_directory`, then `add` or `take` for each of its entries by name; directories depth-first.

    `has` tells whether a page can be referred to; without it all pages are put.
    """

    def __init__(self, sink: ChunkSink, has: Callable[[ChunkKind, bytes], bool] | None = None) -> None:
        self._sink = sink
        self._has = has
        self._followed: KnownPage | None = None
        self._taken = 0
        self._tree = TreeWriter(sink, ChunkKind.PAGE)
        self._groups: list[Group] = []
        self._entries: list[msgspec.Raw] = []
        self._directory: bytes | None = None
        self._directory_key = b""
        self._group_directory = b""
        self._last_name = b""
        self._size = 0
        self._count = 0
        self._first: tuple[bytes, bytes] | None = None

    def open_directory(self, directory: bytes) -> None:
        """Begin the listing of a directory; raises IntegrityError when it does not come after the last one."""
        key = directory_key(directory)
        if self._directory is not None and key <= self._directory_key:
            raise IntegrityError(f"directory {directory[:80]!r} comes out of order")
        self._close_group()
        self._directory, self._directory_key, self._last_name = directory, key, b""

    def add(self, name: bytes, raw: bytes | msgspec.Raw) -> None:
        """Add one encoded entry of the open directory."""
        if self._followed is not None:
            self._stop_following()
        if name <= self._last_name or self._directory is None:
            raise IntegrityError(f"entry {name[:80]!r} comes out of order")
        check_name(name)
        size = len(raw) if isinstance(raw, bytes) else memoryview(raw).nbytes
        if self._count and self._size + size > PAGE_TARGET_MAX:
            self._close_page()
        if self._first is None:
            self._first = (self._directory, name)
        self._entries.append(msgspec.Raw(raw) if isinstance(raw, bytes) else raw)
        self._last_name = name
        self._count += 1
        self._size += size
        if self._size >= PAGE_MIN and self._is_cut(self._directory_key, name):
            self._close_page()

    def take(self, name: bytes, found: Found) -> None:
        """Add the entry of this name as an earlier backup has it in the open directory."""
        _, page, number = found
        if page is self._followed and number == self._taken:
            self._taken = number + 1
            if self._taken == page.count:
                self._take_page(page)
        elif number == 0 and self._followed is None and not self._count and self._can_follow(name, page):
            self._followed, self._taken = page, 1
        else:
            self.add(name, page.raws[number])

    def snapshot(self, also: tuple[bytes, bytes] | None = None) -> StreamRef | None:
        """Put what there is so far as pages of their own, and go on as if nothing had been asked; None for no entry.

        `also` is the name of an entry of the open directory that would come next, and its encoding.
        """
        self._stop_following()
        tree = self._tree.copy()
        groups, count, first = list(self._groups), self._count, self._first
        entries = list(self._entries)
        if also is not None and self._directory is not None:
            entries.append(msgspec.Raw(also[1]))
            count, first = count + 1, first or (self._directory, also[0])
        if entries and self._directory is not None:
            groups.append(self._open_group(self._directory, entries))
        if groups:
            tree.add_leaf(encode_leaf(groups), count, 0, first)
        return tree.finish()

    def finish(self) -> StreamRef | None:
        """Put what is left; return the top of the pages, or None for no entry at all."""
        self._stop_following()
        self._close_page()
        return self._tree.finish()

    def _is_cut(self, directory_key: bytes, name: bytes) -> bool:
        """Return whether a page that is large enough ends behind this entry."""
        return hits(self._sink.chunk_id(ChunkKind.PAGE, directory_key + b"\0\0" + name))

    def _can_follow(self, name: bytes, page: KnownPage) -> bool:
        """Return whether a page begins with the entry of this name, and ends where it would end if it were made now."""
        if self._has is None or page.count == 1 or len(page.data) < PAGE_MIN or page.first != (self._directory, name):
            return False
        directory, last = page.last
        return name > self._last_name and self._is_cut(directory_key(directory), last)

    def _take_page(self, page: KnownPage) -> None:
        """Take a page that was followed to its end; one that is not there to be referred to is made anew."""
        if self._has is None or not self._has(ChunkKind.PAGE, page.id):
            self._stop_following()
            return
        self._followed = None
        self._tree.add_known_leaf(page.id, page.count, page.first)
        self._last_name = page.last[1]

    def _stop_following(self) -> None:
        """Add what was taken of the page that is followed, as if each entry had been added when it came."""
        page, left = self._followed, self._taken
        if page is None:
            return
        self._followed = None
        opened = self._directory, self._directory_key
        raws = iter(page.raws)
        for directory, entries in page.groups:
            self._close_group()
            self._directory, self._directory_key, self._last_name = directory, directory_key(directory), b""
            for entry in entries[:left]:
                self.add(entry.name, next(raws))
            left -= len(entries)
            if left <= 0:
                break
        if self._directory != opened[0]:
            self._close_group()
            self._directory, self._directory_key = opened
            self._last_name = b""

    def _close_group(self) -> None:
        if not self._entries or self._directory is None:
            return
        group = self._open_group(self._directory, self._entries)
        self._groups.append(group)
        self._size += len(group.suffix) + _GROUP_COST
        self._group_directory = self._directory
        self._entries = []

    def _open_group(self, directory: bytes, entries: list[msgspec.Raw]) -> Group:
        shared = shared_prefix(self._group_directory, directory) if self._groups else 0
        return Group(shared, directory[shared:], entries)

    def _close_page(self) -> None:
        self._close_group()
        if self._groups:
            self._tree.add_leaf(encode_leaf(self._groups), self._count, 0, self._first)
        self._groups, self._size, self._count, self._first = [], 0, 0, None
