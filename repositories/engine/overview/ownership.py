"""Whose each chunk is: used by nobody, by one backup alone, by one source alone, or shared.

Owns the walk over all backups. A page is gone through again only while that changes whose something is: at most three
times, however many backups share it. Eight bytes a chunk.
"""

from array import array
from typing import Final

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.pages import LEVEL_LIMIT, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import read_page_parts
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat

NOBODY: Final = 0
SHARED: Final = 2**32 - 1

# How a chunk is named: a page means other things in another role.
_NAMED: Final = 1
_PAGE: Final = 2
_CONTENT: Final = 4
_PROBLEMS: Final = 8

Owner = tuple[int, int]
"""The number of a backup (or of a group of them) and the number of its source; both begin at 1."""


class Ownership:
    """Owners by the ordinals that stand for chunks. `missing` counts chunks that are named and in no index."""

    def __init__(self, index: CompactIndex, source: ChunkSource, beat: Beat) -> None:
        self._index = index
        self._source = source
        self._beat = beat
        self._roles = bytearray(len(index))
        self._backups = array("I", bytes(4 * len(index)))
        self._sources = array("I", bytes(4 * len(index)))
        self._owner: Owner = (0, 0)
        self.missing = 0

    def owners(self, standing: int) -> Owner:
        """Return the backup and the source that alone use a chunk; NOBODY, SHARED."""
        return self._backups[standing], self._sources[standing]

    def add(self, root: BackupRoot, owner: Owner) -> None:
        """Walk one backup. Raises IntegrityError or ObjectMissingError where it cannot be read."""
        self._owner = owner
        if root.top_entry is not None:
            self._entry(root.top_entry)
        if root.problems is not None:
            self._stream(root.problems, _PROBLEMS)
        if root.pages is not None:
            self._pages(root.pages)

    def _pages(self, top: StreamRef) -> None:
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._take(page, _PAGE):
                continue
            self._beat()
            data = self._source.read(ChunkKind.PAGE, page)
            if level > 0:
                stack.extend((ref.id, level - 1) for ref in reversed(decode_list(data, level)))
                continue
            for _, raws in decode_leaf(data):
                for raw in raws:
                    self._entry(decode_entry(raw))

    def _entry(self, entry: Entry) -> None:
        for extent in entry.extents or ():
            if isinstance(extent, bytes):
                self._take(extent, _NAMED)
        if entry.stream is not None:
            self._stream(entry.stream, _CONTENT)
        for xattr in entry.xattrs or ():
            for chunk in xattr.chunks or ():
                self._take(chunk, _NAMED)

    def _stream(self, top: StreamRef, role: int) -> None:
        if top.level > LEVEL_LIMIT:
            raise IntegrityError(f"a stream claims {top.level} levels")
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._take(page, role):
                continue
            self._beat()
            pages, chunks = read_page_parts(self._source, page, level, content=role == _CONTENT)
            stack.extend((each, level - 1) for each in pages)
            for chunk in chunks:
                self._take(chunk, _NAMED)

    def _take(self, chunk_id: bytes, role: int) -> bool:
        """Note that the owner uses a chunk; return whether that was not known in full."""
        at = self._index.find(chunk_id)
        if at is None:
            self.missing += 1
            return role != _NAMED
        changed = not self._roles[at] & role
        self._roles[at] |= role
        for owners, owner in ((self._backups, self._owner[0]), (self._sources, self._owner[1])):
            before = owners[at]
            if before not in (owner, SHARED):
                owners[at] = SHARED if before else owner
                changed = True
        return changed
