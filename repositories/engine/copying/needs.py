"""Which chunks a backup names, walked page by page; what earlier backups of the same copy named is passed over.

Owns that walk, and taking it back: after a backup that cannot be read nothing counts as walked that it came to. What
is in no index, or cannot be decoded, ends it: that backup is not copied.
"""

from array import array
from typing import Final

from repositories.engine.copying.origin import Origin
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.pages import LEVEL_LIMIT, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.streams import read_page_parts

# How a chunk is named. A page is gone through once in each role: only then all that it names is known.
_NAMED: Final = 1
_PAGE: Final = 2
_CONTENT: Final = 4
_PROBLEMS: Final = 8


class Needs:
    """The walk over the backups of one copy, oldest first."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._uses = bytearray(len(origin.index))
        self._changed = array("I")
        self._before = bytearray()
        self.ordinals = array("I")
        self.kinds = bytearray()

    def walk(self, root: BackupRoot) -> None:
        """Leave in `ordinals` (and `kinds` beside it) the chunks that this backup names and none before it did.

        Raises IntegrityError or ObjectMissingError where the backup cannot be read, or names what is in no index.
        """
        self._changed, self._before = array("I"), bytearray()
        self.ordinals, self.kinds = array("I"), bytearray()
        if root.top_entry is not None:
            self._entry(root.top_entry)
        if root.problems is not None:
            self._stream(root.problems, _PROBLEMS)
        if root.pages is not None:
            self._pages(root.pages)

    def take_back(self) -> None:
        """Forget what the last backup named: it was not copied."""
        for ordinal, before in zip(reversed(self._changed), reversed(self._before), strict=True):
            self._uses[ordinal] = before

    def _pages(self, top: StreamRef) -> None:
        _check_level(top.level)
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._name(ChunkKind.PAGE, page, _PAGE):
                continue
            self._origin.pulse()
            data = self._origin.read(ChunkKind.PAGE, page)
            if level > 0:
                stack.extend((ref.id, level - 1) for ref in reversed(decode_list(data, level)))
                continue
            for _, raws in decode_leaf(data):
                for raw in raws:
                    self._entry(decode_entry(raw))

    def _entry(self, entry: Entry) -> None:
        for extent in entry.extents or ():
            if isinstance(extent, bytes):
                self._name(ChunkKind.DATA, extent, _NAMED)
        if entry.stream is not None:
            self._stream(entry.stream, _CONTENT)
        for xattr in entry.xattrs or ():
            for chunk in xattr.chunks or ():
                self._name(ChunkKind.STREAM, chunk, _NAMED)

    def _stream(self, top: StreamRef, use: int) -> None:
        _check_level(top.level)
        stack = [(top.id, top.level)]
        while stack:
            page, level = stack.pop()
            if not self._name(ChunkKind.STREAM, page, use):
                continue
            self._origin.pulse()
            pages, chunks = read_page_parts(self._origin, page, level, content=use == _CONTENT)
            stack.extend((each, level - 1) for each in pages)
            for chunk in chunks:
                self._name(ChunkKind.DATA, chunk, _NAMED)

    def _name(self, kind: ChunkKind, chunk_id: bytes, use: int) -> bool:
        """Take note of a chunk; return whether it is new in this role."""
        ordinal = self._origin.index.find(chunk_id)
        if ordinal is None:
            raise ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check on the origin")
        known = self._uses[ordinal]
        if known & use:
            return False
        self._changed.append(ordinal)
        self._before.append(known)
        self._uses[ordinal] = known | use
        if not known:
            self.ordinals.append(ordinal)
            self.kinds.append(kind)
        return True


def _check_level(level: int) -> None:
    if level > LEVEL_LIMIT:
        raise IntegrityError(f"a backup claims {level} levels of pages")
