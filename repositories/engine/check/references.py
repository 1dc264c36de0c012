"""Checks that everything a manifest names can be found: pages, streams, chunks of content.

Owns the walk over all manifests, each page once however many backups share it, and which paths are hurt.
"""

from dataclasses import dataclass
from typing import Final

from repositories.engine.check.report import Beat, HurtPaths
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_XATTR
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, Xattr, decode_entry
from repositories.engine.manifest.entry_reader import check_order
from repositories.engine.manifest.order import directory_key, join
from repositories.engine.manifest.page_order import Key, check_count, check_first, check_list, key_of
from repositories.engine.manifest.pages import PageRef, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import stream_parts
from repositories.engine.reader import ChunkReader

BadChunks = frozenset[bytes]
_KEYS_KEPT: Final = 1024


class ReferenceCheck:
    """Walks manifests. `bad` chunks count as missing. Pages that were found whole are not read again."""

    def __init__(self, reader: ChunkReader, bad: BadChunks, beat: Beat) -> None:
        self._reader = reader
        self._bad = bad
        self._beat = beat
        self._good_pages: dict[bytes, _GoodPage] = {}
        self._good_chunks: dict[bytes, int] = {}

    @property
    def chunks(self) -> int:
        """How many different chunks were named and found."""
        return len(self._good_chunks) + len(self._good_pages)

    def check(self, root: BackupRoot) -> HurtPaths:
        """Return what of a backup cannot be restored. Raises IntegrityError for disorder in its pages."""
        hurt = HurtPaths()
        if root.top_entry is not None and not self._entry_whole(root.top_entry):
            hurt.add(b".")
        if root.problems is not None and not self._problems_whole(root.problems):
            hurt.add(b"(list of problems)")
        if root.pages is not None:
            self._check_pages(root.pages, hurt)
        return hurt

    def _check_pages(self, top: StreamRef, hurt: HurtPaths) -> None:
        """Walk the pages, depth first; what is hurt is counted, what is out of order raises IntegrityError."""
        walk = _Walk(hurt)
        stack: list[tuple[PageRef, int] | _Exit] = [(PageRef(top.id, top.count, top.length), top.level)]
        while stack:
            item = stack.pop()
            if isinstance(item, _Exit):
                self._remember(item.page, item.level, item.first, walk, item.before)
                continue
            self._beat()
            page, level = item
            walk.come_to(page)
            known = self._good_pages.get(page.id)
            if known is not None and known.level == level:
                walk.pass_over(page, known)
                continue
            try:
                data = self._page(page.id)
            except (IntegrityError, ObjectMissingError):
                walk.lose(page)
                continue
            if level > 0:
                refs = decode_list(data, level)
                check_list(page, refs, len(stack))
                stack.append(_Exit(page, level, key_of(refs[0]), hurt.count))
                stack.extend((ref, level - 1) for ref in reversed(refs))
            else:
                self._check_leaf(page, data, walk)

    def _check_leaf(self, page: PageRef, data: bytes, walk: "_Walk") -> None:
        before, seen = walk.hurt.count, 0
        first: Key = (b"", b"")
        for directory, raws in decode_leaf(data):
            entries = [(decode_entry(raw), raw) for raw in raws]
            if not seen:
                first = directory_key(directory), entries[0][0].name
                check_first(page, directory, entries[0][0])
            walk.last = check_order(walk.last or (b"", b""), directory, entries, begun=walk.last is not None)
            seen += len(entries)
            for entry, _ in entries:
                if not self._entry_whole(entry):
                    walk.hurt.add(join(directory, entry.name))
        check_count(page, seen)
        self._remember(page, 0, first, walk, before)

    def _remember(self, page: PageRef, level: int, first: Key, walk: "_Walk", before: int) -> None:
        """Keep a page with nothing hurt below it, so that other backups that name it need not go down again."""
        last = walk.last
        if last is not None and walk.hurt.count == before and sum(map(len, first + last)) <= _KEYS_KEPT:
            self._good_pages[page.id] = _GoodPage(level, page.count, first, last)

    def _page(self, page_id: bytes) -> bytes:
        if page_id in self._bad:
            raise IntegrityError("this page is damaged")
        return self._reader.read(ChunkKind.PAGE, page_id)

    def _entry_whole(self, entry: Entry) -> bool:
        try:
            return self._content_whole(entry) and all(map(self._xattr_whole, entry.xattrs or ()))
        except (IntegrityError, ObjectMissingError):
            return False

    def _content_whole(self, entry: Entry) -> bool:
        if entry.type != EntryType.FILE:
            return True
        if entry.stream is not None:
            parts = stream_parts(self._reader, entry.stream, content=True)
            return entry.stream.length == entry.size and all(self._length(*part) is not None for part in parts)
        total = 0
        for extent in entry.extents or ():
            length = self._length(ChunkKind.DATA, extent) if isinstance(extent, bytes) else extent
            if length is None or length <= 0:
                return False
            total += length
        return total == entry.size

    def _xattr_whole(self, xattr: Xattr) -> bool:
        lengths = [self._length(ChunkKind.STREAM, chunk) for chunk in xattr.chunks or ()]
        return None not in lengths and sum(filter(None, lengths)) <= MAX_XATTR

    def _problems_whole(self, top: StreamRef) -> bool:
        try:
            for _ in stream_parts(self._reader, top, content=False):
                self._beat()
        except (IntegrityError, ObjectMissingError):
            return False
        return True

    def _length(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        """Return the length of a chunk that can be found, else None."""
        length = self._good_chunks.get(chunk_id)
        if length is not None:
            return length
        place = None if chunk_id in self._bad else self._reader.locate(kind, chunk_id)
        if place is None:
            return None
        self._good_chunks[chunk_id] = place.length
        return place.length


@dataclass(frozen=True, slots=True)
class _GoodPage:
    level: int
    count: int
    first: Key
    last: Key


@dataclass(frozen=True, slots=True)
class _Exit:
    """The mark, on the stack, that all below a list is done; `before` is how much was hurt when it was entered."""

    page: PageRef
    level: int
    first: Key
    before: int


class _Walk:
    """How far the walk over one backup's pages came: the last key, read or claimed by a lost page."""

    def __init__(self, hurt: HurtPaths) -> None:
        self.hurt = hurt
        self.last: Key | None = None

    def come_to(self, page: PageRef) -> None:
        if page.directory is not None and self.last is not None and key_of(page) <= self.last:
            raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")

    def pass_over(self, page: PageRef, known: _GoodPage) -> None:
        check_count(page, known.count)
        if page.directory is not None and key_of(page) != known.first:
            raise IntegrityError(f"manifest page {page.id.hex()} begins with another entry than its list says")
        self.last = known.last

    def lose(self, page: PageRef) -> None:
        self.hurt.add(join(page.directory or b"", page.name or b""), page.count)
        if page.directory is not None:
            self.last = key_of(page)
