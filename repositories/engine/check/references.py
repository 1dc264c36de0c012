"""Checks that everything a manifest names can be found: pages, streams, chunks of content.

Owns the walk over all manifests, each page once however many backups share it, and which paths are hurt.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from repositories.engine.check.found import FoundChunks, Ordinals
from repositories.engine.check.report import Beat, HurtPaths
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.limits import MAX_BLOCK_DECODED, MAX_XATTR, MAX_XATTRS
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, EntryType, StreamRef, Xattr, decode_entry
from repositories.engine.manifest.entry_reader import check_order
from repositories.engine.manifest.order import directory_key, join
from repositories.engine.manifest.page_order import Key, check_count, check_first, check_list, key_of
from repositories.engine.manifest.pages import PageRef, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import stream_claims, stream_parts

BadChunks = frozenset[bytes]
_KEYS_KEPT: Final = 1024
_WITHOUT_CONTENT: Final = (EntryType.DIRECTORY, EntryType.FIFO)
_DEVICES: Final = (EntryType.CHARACTER_DEVICE, EntryType.BLOCK_DEVICE)


class Held(Protocol):
    """A chunk that an index knows."""

    @property
    def length(self) -> int:
        """Its bytes."""


class References(ChunkSource, Protocol):
    """What a backup is held against: an index, and a reader of pages through it."""

    @property
    def index(self) -> Ordinals:
        """The numbers of its chunks."""

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Held | None:
        """Return a chunk of this kind, or None if no index names it."""


class ReferenceCheck:
    """Walks manifests. `bad` chunks count as missing. Leaves that were found whole are not read again."""

    def __init__(self, reader: References, bad: BadChunks, beat: Beat) -> None:
        self._reader = reader
        self._bad = bad
        self._beat = beat
        self._good_leaves: dict[bytes, _Leaf] = {}
        self._lists: set[bytes] = set()
        self._good_chunks = FoundChunks(reader.index)
        # Named by a backup, and asked for again by the next one.
        self._others: set[bytes] = set()

    @property
    def chunks(self) -> int:
        """How many different chunks were named and found."""
        return self._good_chunks.count + len(self._good_leaves) + len(self._lists)

    def names(self, chunk_id: bytes) -> bool:
        """Tell whether a backup that was checked names the chunk; complete only where nothing was hurt."""
        return any(chunk_id in each for each in (self._good_chunks, self._good_leaves, self._lists, self._others))

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
        stack = [(PageRef(top.id, top.count, top.length), top.level)]
        while stack:
            page, level = stack.pop()
            self._beat()
            walk.come_to(page)
            known = self._good_leaves.get(page.id)
            if known is not None and level == 0:
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
                self._lists.add(page.id)
                stack.extend((ref, level - 1) for ref in reversed(refs))
            else:
                self._check_leaf(page, data, walk)

    def _check_leaf(self, page: PageRef, data: bytes, walk: "_Walk") -> None:
        before, leaf = walk.hurt.count, _Leaf()
        for directory, raws in decode_leaf(data):
            entries = [(decode_entry(raw), raw) for raw in raws]
            if not leaf.count:
                leaf.first = directory_key(directory), entries[0][0].name
                check_first(page, directory, entries[0][0])
            walk.last = leaf.last = check_order(
                walk.last or (b"", b""), directory, entries, begun=walk.last is not None
            )
            leaf.count += len(entries)
            leaf.inside.append(hash(directory))
            if hash(directory) not in walk.directories:
                walk.hurt.add(directory, len(entries))
                continue
            self._check_entries(directory, entries, leaf, walk)
        check_count(page, leaf.count)
        # A page with long keys is read again for each backup: memory must not grow with what someone made up.
        if walk.hurt.count == before and sum(map(len, leaf.first + leaf.last)) <= _KEYS_KEPT:
            self._good_leaves[page.id] = leaf
        else:
            self._others.add(page.id)

    def _check_entries(
        self, directory: bytes, entries: list[tuple[Entry, msgspec.Raw]], leaf: "_Leaf", walk: "_Walk"
    ) -> None:
        for entry, _ in entries:
            path = join(directory, entry.name)
            if entry.type == EntryType.DIRECTORY:
                leaf.made.append(hash(path))
                walk.directories.add(hash(path))
            if not self._entry_whole(entry):
                walk.hurt.add(path)

    def _page(self, page_id: bytes) -> bytes:
        if page_id in self._bad:
            raise IntegrityError("this page is damaged")
        return self._reader.read(ChunkKind.PAGE, page_id)

    def _entry_whole(self, entry: Entry) -> bool:
        try:
            return self._object_whole(entry) and self._xattrs_whole(entry.xattrs or ())
        except (IntegrityError, ObjectMissingError):
            return False

    def _object_whole(self, entry: Entry) -> bool:
        if entry.type == EntryType.FILE:
            return self._content_whole(entry)
        if entry.type == EntryType.LINK:
            return entry.target is not None
        return entry.type in _WITHOUT_CONTENT or (entry.type in _DEVICES and entry.device is not None)

    def _content_whole(self, entry: Entry) -> bool:
        if entry.stream is not None:
            return entry.stream.length == entry.size and self._stream_whole(entry.stream)
        total = 0
        for extent in entry.extents or ():
            length = self._length(ChunkKind.DATA, extent) if isinstance(extent, bytes) else extent
            if length is None or length <= 0:
                return False
            total += length
        return total == entry.size

    def _stream_whole(self, top: StreamRef) -> bool:
        for kind, chunk_id, claimed in stream_claims(self._reader, top, content=True):
            length = self._length(kind, chunk_id)
            if length is None or (kind is ChunkKind.DATA and length != claimed):
                return False
        return True

    def _xattrs_whole(self, xattrs: Sequence[Xattr]) -> bool:
        room = MAX_XATTRS
        for xattr in xattrs:
            lengths = [self._length(ChunkKind.STREAM, chunk) for chunk in xattr.chunks or ()]
            value = sum(filter(None, lengths))
            if None in lengths or (lengths and value > min(room, MAX_XATTR)):
                return False
            room -= value + len(xattr.value or b"")
        return True

    def _problems_whole(self, top: StreamRef) -> bool:
        try:
            for _, chunk_id in stream_parts(self._reader, top, content=False):
                self._others.add(chunk_id)
                self._beat()
        except (IntegrityError, ObjectMissingError):
            return False
        return True

    def _length(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        """Return the length of a chunk that can be found, else None."""
        length = self._good_chunks.length(kind, chunk_id)
        if length is not None:
            return length
        place = None if chunk_id in self._bad else self._reader.locate(kind, chunk_id)
        # No block gives back more than it can hold, whatever the index says of it.
        if place is None or place.length > MAX_BLOCK_DECODED:
            return None
        self._good_chunks.add(kind, chunk_id, place.length)
        return place.length


@dataclass(slots=True)
class _Leaf:
    """What other backups need to know of a leaf with nothing hurt in it; directories are kept as the hashes of paths.

    Python's hashes of bytes are keyed anew in each process: nobody can make two paths that collide.
    """

    first: Key = (b"", b"")
    last: Key = (b"", b"")
    count: int = 0
    inside: "array[int]" = field(default_factory=lambda: array("q"))
    made: "array[int]" = field(default_factory=lambda: array("q"))


class _Walk:
    """How far the walk over one backup's pages came: the last key, read or claimed by a lost page, and directories."""

    def __init__(self, hurt: HurtPaths) -> None:
        self.hurt = hurt
        self.last: Key | None = None
        self.directories = {hash(b"")}

    def come_to(self, page: PageRef) -> None:
        if page.directory is not None and self.last is not None and key_of(page) <= self.last:
            raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")

    def pass_over(self, page: PageRef, leaf: _Leaf) -> None:
        check_count(page, leaf.count)
        if page.directory is not None and key_of(page) != leaf.first:
            raise IntegrityError(f"manifest page {page.id.hex()} begins with another entry than its list says")
        if self.last is not None and leaf.first <= self.last:
            raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")
        self.last = leaf.last
        self.directories.update(leaf.made)
        if not self.directories.issuperset(leaf.inside):
            self.hurt.add(page.directory or b"", leaf.count)

    def lose(self, page: PageRef) -> None:
        self.hurt.add(join(page.directory or b"", page.name or b""), page.count)
        if page.directory is not None:
            self.last = key_of(page)
