"""What to do about an object that is already where one is to be restored.

Owns the overwrite policy and what counts as identical. Looks at content only by hashing it against the backup's
chunk ids; changes nothing.
"""

import enum
import os
import stat

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import Entry, EntryType, entry_type
from repositories.engine.metadata.apply import SPECIAL_BITS
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.chunks import AnyChunks, content_of
from repositories.engine.restore.hashing import ChunkHash
from repositories.engine.restore.request import Overwrite
from repositories.engine.restore.same_xattrs import same_xattrs
from repositories.engine.restore.target import is_unfinished
from repositories.engine.source.files import open_regular

_PIECE = 1024 * 1024


class Verdict(enum.Enum):
    """IDENTICAL: leave it, it counts as restored. KEEP: leave it, it differs. REPLACE: overwrite it.

    LATE, of directories: only its time differs, which changes anyway if something is made in it, and is kept if not.
    """

    IDENTICAL = 1
    KEEP = 2
    REPLACE = 3
    LATE = 4


class Policy:
    """Decides for one restore. Safe in several threads.

    Content is compared where it decides what is reported as identical: when nothing is overwritten, and when `compare`
    asks for it. Else equal size and attributes are enough, and `compares` tells that.
    """

    def __init__(self, overwrite: Overwrite, source: AnyChunks, chunk_hash: ChunkHash, *, compare: bool) -> None:
        self._overwrite = overwrite
        self.compares = compare or overwrite is Overwrite.NEVER
        self._source = source
        self._hash = chunk_hash

    def judge(self, directory: int, entry: Entry, status: os.stat_result) -> Verdict:
        """Return what to do about the object with `status` in place of `entry`. Raises OSError."""
        if is_unfinished(status) or self._overwrite is Overwrite.ALWAYS:
            return Verdict.REPLACE
        same_kind = entry_type(status.st_mode) == entry.type
        if same_kind and self._identical(directory, entry, status):
            return Verdict.IDENTICAL
        return self.judge_different(entry, status)

    def judge_different(self, entry: Entry, status: os.stat_result) -> Verdict:
        """Return what to do about an object that differs from `entry`, be it only in not being the hard link it was."""
        if self._overwrite in (Overwrite.IF_CHANGED, Overwrite.ALWAYS):
            return Verdict.REPLACE
        if self._overwrite is Overwrite.IF_NEWER and entry.mtime_ns > status.st_mtime_ns:
            return Verdict.REPLACE
        return Verdict.KEEP

    def may_leave(self, entry: Entry, status: os.stat_result) -> bool:
        """Tell at a glance whether the object with `status` may stay in place of `entry`; `judge` says it for sure."""
        if is_unfinished(status) or self._overwrite is Overwrite.ALWAYS:
            return False
        alike = (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)
        return alike or self.judge_different(entry, status) is Verdict.KEEP

    def judge_directory(self, target: int | bytes, entry: Entry, status: os.stat_result) -> Verdict:
        """Return what to do about the attributes of a directory where `entry` is one. Never raises OSError.

        `target` is its descriptor, or a path of `object_in`. REPLACE means to set them: whatever is overwritten in a
        directory makes it newer, so that its own time is no reason to keep them.
        """
        if self._overwrite is not Overwrite.NEVER:
            return Verdict.REPLACE
        if not (same_rights(entry, status) and same_xattrs(target, status, entry, self._source)):
            return Verdict.KEEP
        return Verdict.IDENTICAL if entry.mtime_ns == status.st_mtime_ns else Verdict.LATE

    def _identical(self, directory: int, entry: Entry, status: os.stat_result) -> bool:
        if entry.type == EntryType.LINK:
            return self._same_link(directory, entry, status)
        if entry.type != EntryType.FILE:
            # Whoever writes to a FIFO or device changes its time.
            device = (os.major(status.st_rdev), os.minor(status.st_rdev))
            return same_rights(entry, status) and (entry.device is None or entry.device == device)
        if status.st_size != entry.size or not same_attributes(entry, status):
            return False
        if not same_xattrs(object_in(directory, entry.name), status, entry, self._source):
            return False
        if not self.compares:
            return True
        try:
            return holds_content(self._source, self._hash, directory, entry)
        except PermissionError:
            return True  # its own mode closes it to us; all that can be compared is the same

    def _same_link(self, directory: int, entry: Entry, status: os.stat_result) -> bool:
        if os.readlink(entry.name, dir_fd=directory) != entry.target:
            return False
        # Not every file system keeps a link's time, so that a difference is no reason to call it another link.
        return self._overwrite is Overwrite.NEVER or status.st_mtime_ns == entry.mtime_ns


def same_attributes(entry: Entry, status: os.stat_result) -> bool:
    """Return whether mode and time are the entry's, and owners where we could set them."""
    return status.st_mtime_ns == entry.mtime_ns and same_rights(entry, status)


def same_rights(entry: Entry, status: os.stat_result) -> bool:
    """Return whether the mode is the entry's, and owners where we could set them."""
    owned = (status.st_uid, status.st_gid) == (entry.uid, entry.gid)
    if not owned and os.geteuid() == 0:
        return False
    ignored = 0 if owned else SPECIAL_BITS
    return stat.S_IMODE(status.st_mode) & ~ignored == stat.S_IMODE(entry.mode) & ~ignored


def holds_content(source: AnyChunks, chunk_hash: ChunkHash, directory: int, entry: Entry) -> bool:
    """Return whether a regular file holds exactly what the backup does; False if the backup cannot tell.

    Raises OSError.
    """
    try:
        return same_content(source, chunk_hash, directory, entry)
    except (IntegrityError, ObjectMissingError):
        return False


def same_content(source: AnyChunks, chunk_hash: ChunkHash, directory: int, entry: Entry) -> bool:
    """Return whether a regular file holds exactly what the backup does, by chunk ids.

    Raises OSError, and IntegrityError or ObjectMissingError when it is the backup that cannot be read.
    """
    if not entry.size:
        return os.stat(entry.name, dir_fd=directory, follow_symlinks=False).st_size == 0
    descriptor, status = open_regular(entry.name, directory)
    try:
        if status.st_size != entry.size:
            return False
        for piece in content_of(source, entry):
            if piece.chunk is None:
                if not _all_zero(descriptor, piece.length):
                    return False
            elif chunk_hash(ChunkKind.DATA, _read(descriptor, piece.length)) != piece.chunk:
                return False
    finally:
        os.close(descriptor)
    return True


def _read(descriptor: int, length: int) -> bytes:
    parts = []
    while length > 0 and (data := os.read(descriptor, min(length, _PIECE))):
        parts.append(data)
        length -= len(data)
    return b"".join(parts)


def _all_zero(descriptor: int, length: int) -> bool:
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    end = position + length
    while position < end:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError:
            break
        if start >= end:
            break
        os.lseek(descriptor, start, os.SEEK_SET)
        data = os.read(descriptor, min(end - start, _PIECE))
        if not data or data.count(0) != len(data):
            return False
        position = start + len(data)
    os.lseek(descriptor, end, os.SEEK_SET)
    return True
