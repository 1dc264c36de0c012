"""Whether an object is the same as in the parent backup, so that its encoded entry can be taken as it is.

Owns the rule (engine.md, section 3): equal type, size, mtime, ctime, inode, and not young. Content that is no longer
in the repository is never referred to: the object is read again, which heals.
"""

import stat
from typing import Final

from repositories.engine.backup.begun import Begun
from repositories.engine.backup.options import SourceSpec
from repositories.engine.backup.session import Presence
from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import (
    FLAG_BEGUN,
    FLAG_CHANGED,
    FLAG_LACKING,
    FLAG_YOUNG,
    Entry,
    EntryType,
    StreamRef,
    pack_time,
)
from repositories.engine.manifest.known_pages import Found
from repositories.engine.manifest.streams import read_extents, stream_parts
from repositories.engine.source.status import Status

_DISTRUSTED = FLAG_YOUNG | FLAG_CHANGED | FLAG_BEGUN
_INCOMPLETE = _DISTRUSTED | FLAG_LACKING
# Asked for with each object: as plain values of this module.
_FORMAT: Final = stat.S_IFMT(0o177777)
_REGULAR: Final = stat.S_IFREG
_FILE: Final = int(EntryType.FILE)
_DATA: Final = ChunkKind.DATA


class Comparison:
    """Compares with the parent's entries under the options of one source."""

    def __init__(self, stored: Presence, reader: ChunkSource, source: SourceSpec) -> None:
        self._has = stored.has
        self._reader = reader
        self._any_inode = source.ignore_inode
        self._any_ctime = source.ignore_ctime

    def is_same_file(self, entry: Entry, status: Status) -> bool:
        """Return whether an object is a file of one name, and `exact` would return this entry for it.

        The rule of `exact` once more, in the order in which nearly all objects pass soonest.
        """
        return (
            entry.mtime == status.st_mtime_ns
            and entry.ctime == status.st_ctime_ns
            and entry.inode == status.st_ino
            and entry.size == status.st_size
            and status.st_nlink == 1
            and status.st_mode & _FORMAT == _REGULAR
            and entry.type == _FILE
            and not entry.flags & _INCOMPLETE
            and entry.link_group is None
            and self._present(entry)
        )

    def exact(self, found: Found, kind: EntryType, status: Status, group: tuple[int, int] | None) -> Entry | None:
        """Return the parent's entry when nothing about the object has changed and all it names is present."""
        entry = found[0]
        if (
            entry.mtime != status.st_mtime_ns
            or entry.ctime != status.st_ctime_ns
            or entry.inode != status.st_ino
            or entry.type != kind
            or entry.flags & _INCOMPLETE
            or (kind is not EntryType.DIRECTORY and entry.size != status.st_size)
            or entry.link_group != group
        ):
            return None
        if (entry.extents or entry.stream or entry.xattrs) and not self._present(entry):
            return None
        return entry

    def same_content(self, found: Found, status: Status) -> Entry | None:
        """Return the parent's entry of a file whose content counts as the same under the source's options.

        Used where `exact` says no: the inode or ctime may differ if the source says so (metadata is taken anew then),
        so may the hard-link group, and attributes may have been unreadable.
        """
        entry = found[0]
        if (
            entry.type != EntryType.FILE
            or entry.flags & _DISTRUSTED
            or entry.size != status.st_size
            or entry.mtime != pack_time(status.st_mtime_ns)
            or (not self._any_ctime and entry.ctime != pack_time(status.st_ctime_ns))
            or (not self._any_inode and entry.inode != status.st_ino)
        ):
            return None
        return entry if self._present(entry) else None

    def begun(self, found: Found | None) -> Begun | None:
        """Return what an earlier try had read of a file that it did not finish, if all of it is present."""
        entry = found[0] if found is not None else None
        if entry is None or not entry.flags & FLAG_BEGUN or entry.stream is None:
            return None
        stream = entry.stream
        return Begun(entry, lambda: read_extents(self._reader, stream)) if self._stream_present(stream) else None

    def _present(self, entry: Entry) -> bool:
        has = self._has
        for extent in entry.extents or ():
            if isinstance(extent, bytes) and not has(_DATA, extent):
                return False
        for xattr in entry.xattrs or ():
            if xattr.chunks is not None and not all(has(ChunkKind.STREAM, chunk) for chunk in xattr.chunks):
                return False
        return entry.stream is None or self._stream_present(entry.stream)

    def _stream_present(self, top: StreamRef) -> bool:
        try:
            return all(self._has(kind, chunk) for kind, chunk in stream_parts(self._reader, top, content=True))
        except (IntegrityError, ObjectMissingError):
            return False
