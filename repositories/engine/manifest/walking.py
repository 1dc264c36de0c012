"""Which chunks a backup names, and how: the one walk that prunes, statistics and copies share.

Owns the order of the walk. Whether a page is gone through is the visitor's word, so that what backups share is read as
often as the visitor wants. A manifest's own order and sums are no matter here: whatever is named is named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.pages import PENDING_LIMIT, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import read_page_parts

NAMED: Final = 1
"""As content: nothing lies below it."""
PAGE: Final = 2
"""As a page of entries."""
CONTENT: Final = 4
"""As a page of the stream of a file's content."""
PROBLEMS: Final = 8
"""As a page of the list of problems."""

Mark = Callable[[ChunkKind, bytes, int], bool]
"""Told of each chunk that is named and of its use, one of the four above; says whether to go through what it names.

A page means other things in another use: only when it was gone through in each is all known that it names. What is said
of a chunk that is NAMED is not looked at.
"""
_Pages = list[tuple[bytes, int]]


@dataclass(frozen=True, slots=True)
class Walk:
    """Goes through backups. `beat` is called for each page that is read, and may raise to end it. One thread."""

    source: ChunkSource
    mark: Mark
    beat: Callable[[], None]

    def backup(self, root: BackupRoot) -> None:
        """Tell of all chunks that a backup names, a page always before what lies below it.

        Raises IntegrityError or ObjectMissingError where it cannot be read, and the storage's errors.
        """
        if root.top_entry is not None:
            self._entry(root.top_entry)
        if root.problems is not None:
            self._stream(root.problems, PROBLEMS)
        if root.pages is not None:
            self._pages(root.pages)

    def _pages(self, top: StreamRef) -> None:
        waiting = [(top.id, top.level)]
        while waiting:
            page, level = waiting.pop()
            if not self.mark(ChunkKind.PAGE, page, PAGE):
                continue
            self.beat()
            data = self.source.read(ChunkKind.PAGE, page)
            if level > 0:
                _push(waiting, [ref.id for ref in decode_list(data, level)], level - 1)
                continue
            for _, raws in decode_leaf(data):
                for raw in raws:
                    self._entry(decode_entry(raw))

    def _entry(self, entry: Entry) -> None:
        if entry.extents is not None:
            self._all(ChunkKind.DATA, (extent for extent in entry.extents if isinstance(extent, bytes)))
        if entry.stream is not None:
            self._stream(entry.stream, CONTENT)
        for xattr in entry.xattrs or ():
            self._all(ChunkKind.STREAM, xattr.chunks or ())

    def _stream(self, top: StreamRef, use: int) -> None:
        waiting = [(top.id, top.level)]
        while waiting:
            page, level = waiting.pop()
            if not self.mark(ChunkKind.STREAM, page, use):
                continue
            self.beat()
            pages, chunks = read_page_parts(self.source, page, level, content=use == CONTENT)
            _push(waiting, pages, level - 1)
            self._all(ChunkKind.DATA, chunks)

    def _all(self, kind: ChunkKind, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self.mark(kind, chunk, NAMED)


def _push(waiting: _Pages, pages: list[bytes], level: int) -> None:
    """Let pages wait so that the first of them comes next: they lie beside each other in this order."""
    if len(waiting) + len(pages) > PENDING_LIMIT:
        raise IntegrityError("a manifest has lists that are wider than any backup makes them")
    waiting.extend((page, level) for page in reversed(pages))
