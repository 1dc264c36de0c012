"""Which chunks backups use: a walk over the pages of each, every page once however many backups share it.

Owns the marking. What cannot be read might have named anything: it ends the walk, so that nothing is ever deleted for
being unknown. The manifest's own order and sums are no matter here: whatever is named is used.
"""

from typing import Final

from repositories.engine.errors import BackupUnreadableError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.pages import LEVEL_LIMIT, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import read_page_parts
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat

# How a chunk is used. A page is gone through once in each role: only then all that it names is known to be marked.
_NAMED: Final = 1
_PAGE: Final = 2
_CONTENT: Final = 4
_PROBLEMS: Final = 8


class Liveness:
    """The chunks that were found to be used, by the ordinals that stand for them. `unindexed` were in no index."""

    def __init__(self, index: CompactIndex, source: ChunkSource, beat: Beat) -> None:
        self._index = index
        self._source = source
        self._beat = beat
        self._uses = bytearray()
        self.unindexed = 0

    def is_used(self, standing: int) -> bool:
        """Tell whether the chunk that this ordinal stands for is used."""
        return standing < len(self._uses) and self._uses[standing] != 0

    def add(self, root: BackupRoot) -> None:
        """Mark all that a backup uses. Raises BackupUnreadableError, and the storage's errors."""
        try:
            if root.top_entry is not None:
                self._add_entry(root.top_entry)
            if root.problems is not None:
                self._add_stream(root.problems, _PROBLEMS)
            if root.pages is not None:
                self._add_pages(root.pages)
        except (IntegrityError, ObjectMissingError) as error:
            raise BackupUnreadableError(
                f"backup {root.backup_id[:80]} of source {root.source.name[:80]!r} cannot be read whole: "
                f"{error.message}; nothing was deleted",
                hint="run check, then repair; or forget this backup, then prune again",
            ) from error

    def _add_pages(self, top: StreamRef) -> None:
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._mark(page, _PAGE):
                continue
            self._beat()
            data = self._source.read(ChunkKind.PAGE, page)
            if level > 0:
                stack.extend((ref.id, level - 1) for ref in reversed(decode_list(data, level)))
                continue
            for _, raws in decode_leaf(data):
                for raw in raws:
                    self._add_entry(decode_entry(raw))

    def _add_entry(self, entry: Entry) -> None:
        for extent in entry.extents or ():
            if isinstance(extent, bytes):
                self._mark(extent, _NAMED)
        if entry.stream is not None:
            self._add_stream(entry.stream, _CONTENT)
        for xattr in entry.xattrs or ():
            for chunk in xattr.chunks or ():
                self._mark(chunk, _NAMED)

    def _add_stream(self, top: StreamRef, use: int) -> None:
        if top.level > LEVEL_LIMIT:
            raise IntegrityError(f"a stream claims {top.level} levels")
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._mark(page, use):
                continue
            self._beat()
            pages, chunks = read_page_parts(self._source, page, level, content=use == _CONTENT)
            stack.extend((each, level - 1) for each in pages)
            for chunk in chunks:
                self._mark(chunk, _NAMED)

    def _mark(self, chunk_id: bytes, use: int) -> bool:
        """Mark a chunk; return whether it had not been marked for this use."""
        standing = self._index.find(chunk_id)
        if standing is None:
            self.unindexed += 1
            return use != _NAMED
        if standing >= len(self._uses):
            self._uses.extend(bytes(len(self._index) - len(self._uses)))
        known = self._uses[standing]
        if known & use:
            return False
        self._uses[standing] = known | use
        return True
