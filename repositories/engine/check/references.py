"""Checks that everything a manifest names can be found: pages, streams, chunks of content.

Owns the walk over all manifests, each page once however many backups share it, and which paths are hurt.
"""

from collections.abc import Iterator

from repositories.engine.check.report import Beat, HurtPaths
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.entry_reader import read_listings
from repositories.engine.manifest.order import join
from repositories.engine.manifest.pages import PageRef, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import read_extents, read_records, stream_page_ids
from repositories.engine.reader import ChunkReader

BadChunks = frozenset[bytes]


class ReferenceCheck:
    """Walks manifests. `bad` chunks count as missing. Pages that were found whole are not read again."""

    def __init__(self, reader: ChunkReader, bad: BadChunks, beat: Beat) -> None:
        self._reader = reader
        self._bad = bad
        self._beat = beat
        self._good_pages: set[bytes] = set()
        self._good_chunks: set[bytes] = set()

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
            whole = self._pages_whole(root.pages, hurt)
            if not whole:
                self._require_order(root.pages)
        return hurt

    def _require_order(self, top: StreamRef) -> None:
        """Read a hurt manifest as a restore would: what is left must still be in order."""
        for _ in read_listings(self._reader, top, lost=lambda path, count: None):
            self._beat()

    def _pages_whole(self, top: StreamRef, hurt: HurtPaths) -> bool:
        stack = [(PageRef(top.id, top.count, top.length, b"", b""), top.level)]
        visited: list[bytes] = []
        before = hurt.count
        while stack:
            page, level = stack.pop()
            if page.id in self._good_pages:
                continue
            self._beat()
            try:
                data = self._page(page.id)
            except (IntegrityError, ObjectMissingError):
                hurt.add(join(page.directory or b"", page.name or b""), page.count)
                continue
            if level > 0:
                visited.append(page.id)
                stack.extend((ref, level - 1) for ref in reversed(decode_list(data, level)))
            elif self._leaf_whole(data, hurt):
                self._good_pages.add(page.id)
        if hurt.count == before:
            # A list is good only when all below it is: else the next backup must go down again.
            self._good_pages.update(visited)
        return hurt.count == before

    def _page(self, page_id: bytes) -> bytes:
        if page_id in self._bad:
            raise IntegrityError("this page is damaged")
        return self._reader.read(ChunkKind.PAGE, page_id)

    def _leaf_whole(self, data: bytes, hurt: HurtPaths) -> bool:
        before = hurt.count
        for directory, raws in decode_leaf(data):
            for raw in raws:
                entry = decode_entry(raw)
                if (entry.extents or entry.stream or entry.xattrs) and not self._entry_whole(entry):
                    hurt.add(join(directory, entry.name))
        return hurt.count == before

    def _entry_whole(self, entry: Entry) -> bool:
        try:
            return all(self._found(kind, chunk) for kind, chunk in self._named_by(entry))
        except (IntegrityError, ObjectMissingError):
            return False

    def _named_by(self, entry: Entry) -> Iterator[tuple[ChunkKind, bytes]]:
        yield from ((ChunkKind.DATA, extent) for extent in entry.extents or () if isinstance(extent, bytes))
        for xattr in entry.xattrs or ():
            yield from ((ChunkKind.STREAM, chunk) for chunk in xattr.chunks or ())
        if entry.stream is not None:
            yield from ((ChunkKind.STREAM, page) for page in stream_page_ids(self._reader, entry.stream))
            for _, content in read_extents(self._reader, entry.stream):
                if content is not None:
                    yield ChunkKind.DATA, content

    def _problems_whole(self, top: StreamRef) -> bool:
        try:
            for _ in read_records(self._reader, top):
                self._beat()
        except (IntegrityError, ObjectMissingError):
            return False
        return True

    def _found(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        if chunk_id in self._good_chunks:
            return True
        if chunk_id in self._bad or self._reader.locate(kind, chunk_id) is None:
            return False
        self._good_chunks.add(chunk_id)
        return True
