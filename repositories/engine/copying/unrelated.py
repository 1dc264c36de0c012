"""Copying between unrelated repositories: all chunks get other ids, so every page that names them is written anew.

Owns the translation. Pages stay cut as they are, so that what backups share is translated once and stays shared;
nothing but ids changes in them, and fields that are not known here keep their bytes. Each chunk is read, proven, and
put under its new id; 33 bytes a chunk remember which that is.
"""

from typing import Final

import msgspec

from repositories.engine.copying.origin import Origin
from repositories.engine.copying.raw_records import Raw, as_raw, fields_of, with_fields
from repositories.engine.copying.roles import CONTENT, PAGE, PLAIN, PROBLEMS
from repositories.engine.copying.session import CopySession
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.format.records import UNDECODABLE
from repositories.engine.ids import CHUNK_ID_LENGTH, ChunkKind
from repositories.engine.manifest.entries import Entry, Extended, StreamRef, decode_entry
from repositories.engine.manifest.pages import LEVEL_LIMIT, decode_leaf, decode_list, decode_records
from repositories.engine.manifest.root import BackupRoot

_BODY: Final = 1
_extent_decoder: Final = msgspec.msgpack.Decoder(Extended)
_EXTENTS, _STREAM, _XATTRS = 10, 11, 12
_PAGES, _TOP_ENTRY, _PROBLEM_LIST = 7, 8, 9


class Translation:
    """From the origin's ids to the target's, for one copy. One thread."""

    def __init__(self, origin: Origin, session: CopySession) -> None:
        self._origin = origin
        self._session = session
        self._roles = bytearray(len(origin.index))
        self._ids = bytearray(len(origin.index) * CHUNK_ID_LENGTH)
        self.missing_bytes = 0

    def root(self, root: BackupRoot, raw: bytes) -> dict[int, object]:
        """Put all that a backup names into the target; return the fields of its root that change.

        Raises IntegrityError or ObjectMissingError where the backup cannot be read, and what poisoned the session.
        """
        changes: dict[int, object] = {}
        fields = fields_of(raw)
        if root.pages is not None:
            top = self._page(root.pages.id, root.pages.level)
            changes[_PAGES] = as_raw(with_fields(fields[_PAGES], {0: top}))
        if root.top_entry is not None:
            changes[_TOP_ENTRY] = as_raw(self._entry(root.top_entry, fields[_TOP_ENTRY]))
        if root.problems is not None:
            changes[_PROBLEM_LIST] = as_raw(self._reference(root.problems, fields[_PROBLEM_LIST], PROBLEMS))
        return changes

    def knows(self, chunk_id: bytes, role: int) -> bool:
        """Tell whether the id of a chunk of the origin has been translated in this role."""
        ordinal = self._origin.index.find(chunk_id)
        return ordinal is not None and self._roles[ordinal] == role

    def length_of(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        """Return what the origin says of a chunk's length, or None if it knows none of this kind."""
        return self._origin.length_of(kind, chunk_id)

    def is_there(self, kind: ChunkKind, made: bytes, length: int | None = None) -> bool:
        """Tell whether the target holds a chunk, of this length; a commit then makes sure that it still does."""
        return self._session.has(kind, made) and (length is None or self._session.fits(kind, made, length))

    def teach(self, pair: tuple[bytes, bytes], role: int) -> bool:
        """Take (id in the origin, id in the target) for the same; return True."""
        self._keep(pair[0], role, pair[1])
        return True

    def _page(self, page: bytes, level: int) -> bytes:
        known = self._known(page, PAGE)
        if known is not None:
            return known
        data = self._read(ChunkKind.PAGE, page, level)
        if level > 0:
            below = [ref.id for ref in decode_list(data, level)]
            made = _list_with(data, [self._page(each, level - 1) for each in below])
        else:
            made = self._leaf(data)
        return self._keep(page, PAGE, self._session.put(ChunkKind.PAGE, made)[0])

    def _leaf(self, data: bytes) -> bytes:
        """Return a leaf of entries with other ids. Decoding it first refuses what no reader would take."""
        entries = [[decode_entry(raw) for raw in raws] for _, raws in decode_leaf(data)]
        groups = []
        for group, decoded in zip(fields_of(fields_of(data)[_BODY]), entries, strict=True):
            raws = fields_of(fields_of(group)[2])
            made = [as_raw(self._entry(entry, raw)) for entry, raw in zip(decoded, raws, strict=True)]
            groups.append(as_raw(with_fields(group, {2: made})))
        return with_fields(data, {_BODY: groups})

    def _entry(self, entry: Entry, raw: Raw) -> bytes:
        changes: dict[int, object] = {}
        fields = fields_of(raw)
        if entry.extents is not None:
            changes[_EXTENTS] = [
                self._chunk(ChunkKind.DATA, each) if isinstance(each, bytes) else each for each in entry.extents
            ]
        if entry.stream is not None:
            changes[_STREAM] = as_raw(self._reference(entry.stream, fields[_STREAM], CONTENT))
        if entry.xattrs is not None and any(xattr.chunks for xattr in entry.xattrs):
            changes[_XATTRS] = [
                as_raw(with_fields(each, {2: self._value(xattr.chunks)}))
                for xattr, each in zip(entry.xattrs, fields_of(fields[_XATTRS]), strict=True)
            ]
        return with_fields(raw, changes)

    def _value(self, chunks: tuple[bytes, ...] | None) -> list[bytes] | None:
        return None if chunks is None else [self._chunk(ChunkKind.STREAM, each) for each in chunks]

    def _reference(self, top: StreamRef, raw: Raw, role: int) -> bytes:
        return with_fields(raw, {0: self._stream(top.id, top.level, role)})

    def _stream(self, page: bytes, level: int, role: int) -> bytes:
        known = self._known(page, role)
        if known is not None:
            return known
        data = self._read(ChunkKind.STREAM, page, level)
        if level > 0:
            below = [ref.id for ref in decode_list(data, level)]
            made = _list_with(data, [self._stream(each, level - 1, role) for each in below])
        elif role == CONTENT:
            made = self._extents(data)
        else:
            decode_records(data)
            made = data
        return self._keep(page, role, self._session.put(ChunkKind.STREAM, made)[0])

    def _extents(self, data: bytes) -> bytes:
        made = []
        for raw in decode_records(data):
            chunk = _extent(raw).id
            made.append(raw if chunk is None else as_raw(with_fields(raw, {1: self._chunk(ChunkKind.DATA, chunk)})))
        return with_fields(data, {_BODY: made})

    def _chunk(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Put one chunk, unless it was put before; return its id in the target."""
        known = self._known(chunk_id, PLAIN)
        if known is not None:
            return known
        content = self._origin.read(kind, chunk_id)
        made, new = self._session.put(kind, content)
        if new:
            self.missing_bytes += len(content)
        return self._keep(chunk_id, PLAIN, made)

    def _read(self, kind: ChunkKind, page: bytes, level: int) -> bytes:
        if level > LEVEL_LIMIT:
            raise IntegrityError(f"a backup claims {level} levels of pages")
        self._origin.pulse()
        return self._origin.read(kind, page)

    def _known(self, chunk_id: bytes, role: int) -> bytes | None:
        ordinal = self._origin.index.find(chunk_id)
        if ordinal is None:
            raise ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check on the origin")
        if self._roles[ordinal] != role:
            return None
        return bytes(self._ids[ordinal * CHUNK_ID_LENGTH : (ordinal + 1) * CHUNK_ID_LENGTH])

    def _keep(self, chunk_id: bytes, role: int, made: bytes) -> bytes:
        ordinal = self._origin.index.find(chunk_id)
        if ordinal is not None:
            self._roles[ordinal] = role
            self._ids[ordinal * CHUNK_ID_LENGTH : (ordinal + 1) * CHUNK_ID_LENGTH] = made
        return made


def extents_of(page: bytes) -> tuple[bytes | int, ...]:
    """Return the chunks of a page of a content stream, and the lengths of its holes. Raises IntegrityError."""
    extents = map(_extent, decode_records(page))
    return tuple(extent.length if extent.id is None else extent.id for extent in extents)


def _extent(raw: msgspec.Raw) -> Extended:
    try:
        return _extent_decoder.decode(raw)
    except UNDECODABLE as error:
        raise IntegrityError(f"a content stream cannot be decoded: {error}") from error


def _list_with(data: bytes, ids: list[bytes]) -> bytes:
    """Return a list of pages that names these instead."""
    items = fields_of(fields_of(data)[_BODY])
    made = [as_raw(with_fields(item, {0: each})) for item, each in zip(items, ids, strict=True)]
    return with_fields(data, {_BODY: made})
