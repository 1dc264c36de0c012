"""What an earlier copy tells about new ids: its original and it are gone through side by side.

Owns that walk. It saves reading content again that was copied before: a copy has the pages of its original, cut alike,
so that what stands in one place of both is the same chunk. Whatever is not there, cannot be read, or does not fit,
teaches nothing: it is then read from the origin.
"""

from collections.abc import Iterator

from repositories.engine.copying.roles import CONTENT, PAGE, PLAIN
from repositories.engine.copying.unrelated import Translation, extents_of
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import Entry, StreamRef, decode_entry
from repositories.engine.manifest.pages import LEVEL_LIMIT, decode_leaf, decode_list
from repositories.engine.manifest.root import BackupRoot

Pair = tuple[bytes, bytes]


class Learning:
    """Teaches a translation the ids of one target. One thread."""

    def __init__(self, translation: Translation, origin: ChunkSource, target: ChunkSource) -> None:
        self._translation = translation
        self._origin = origin
        self._target = target

    def learn(self, original: BackupRoot, copy: BackupRoot) -> None:
        """Remember what the pages of a backup and of its copy tell. Raises the storage's errors."""
        if original.pages is not None and copy.pages is not None and original.pages.level == copy.pages.level:
            self._page((original.pages.id, copy.pages.id), original.pages.level)

    def _page(self, pair: Pair, level: int) -> bool:
        """Return whether all below is known now."""
        if self._translation.knows(pair[0], PAGE):
            return True
        if level > LEVEL_LIMIT or not self._translation.is_there(ChunkKind.PAGE, pair[1]):
            return False
        try:
            old, new = self._origin.read(ChunkKind.PAGE, pair[0]), self._target.read(ChunkKind.PAGE, pair[1])
            complete = self._list(old, new, level, PAGE) if level > 0 else self._leaf(old, new)
        except (IntegrityError, ObjectMissingError):
            return False
        return complete and self._translation.teach(pair, PAGE)

    def _list(self, old: bytes, new: bytes, level: int, role: int) -> bool:
        first, second = decode_list(old, level), decode_list(new, level)
        if len(first) != len(second):
            return False
        pairs = [(a.id, b.id) for a, b in zip(first, second, strict=True)]
        below = [self._page(each, level - 1) if role == PAGE else self._stream(each, level - 1) for each in pairs]
        return all(below)

    def _leaf(self, old: bytes, new: bytes) -> bool:
        first, second = list(_entries(old)), list(_entries(new))
        if [each.name for each in first] != [each.name for each in second]:
            return False
        known = [self._entry(a, b) for a, b in zip(first, second, strict=True)]
        return all(known)

    def _entry(self, old: Entry, new: Entry) -> bool:
        known = [self._chunks(ChunkKind.DATA, old.extents or (), new.extents or ())]
        values = [tuple(xattr.chunks or ()) for xattr in old.xattrs or ()]
        copies = [tuple(xattr.chunks or ()) for xattr in new.xattrs or ()]
        if len(values) != len(copies) or (old.stream is None) != (new.stream is None):
            return False
        known += [self._chunks(ChunkKind.STREAM, a, b) for a, b in zip(values, copies, strict=True)]
        if old.stream is not None and new.stream is not None:
            known.append(self._streams(old.stream, new.stream))
        return all(known)

    def _streams(self, old: StreamRef, new: StreamRef) -> bool:
        return old.level == new.level and self._stream((old.id, new.id), old.level)

    def _stream(self, pair: Pair, level: int) -> bool:
        if self._translation.knows(pair[0], CONTENT):
            return True
        if level > LEVEL_LIMIT or not self._translation.is_there(ChunkKind.STREAM, pair[1]):
            return False
        old, new = self._origin.read(ChunkKind.STREAM, pair[0]), self._target.read(ChunkKind.STREAM, pair[1])
        if level > 0:
            complete = self._list(old, new, level, CONTENT)
        else:
            complete = self._chunks(ChunkKind.DATA, extents_of(old), extents_of(new))
        return complete and self._translation.teach(pair, CONTENT)

    def _chunks(self, kind: ChunkKind, old: "tuple[bytes | int, ...]", new: "tuple[bytes | int, ...]") -> bool:
        """Learn the ids of two rows of chunks; numbers are holes and must be alike."""
        if len(old) != len(new):
            return False
        known = [self._chunk(kind, a, b) for a, b in zip(old, new, strict=True)]
        return all(known)

    def _chunk(self, kind: ChunkKind, old: bytes | int, new: bytes | int) -> bool:
        if not isinstance(old, bytes) or not isinstance(new, bytes):
            return old == new
        if self._translation.knows(old, PLAIN):
            return True
        # Neither is read: what is said of the old one must be true of the new one.
        length = self._translation.length_of(kind, old)
        if length is None or not self._translation.is_there(kind, new, length):
            return False
        return self._translation.teach((old, new), PLAIN)


def _entries(page: bytes) -> Iterator[Entry]:
    for _, raws in decode_leaf(page):
        yield from map(decode_entry, raws)
