"""Writes single files: content by extents, attributes last, under the name only when it may be there.

Owns creation: exclusively, never through a link, marked unfinished until done; replacing goes through a temporary
name and a rename, so that what was there stays until the new one is complete. Safe in several threads.
"""

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import blake3

from repositories.engine.errors import IntegrityError, ObjectMissingError, RestoreTargetError
from repositories.engine.manifest.entries import Entry
from repositories.engine.metadata.apply import Attributes, apply_to_descriptor, remove_inherited_acls
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.chunks import AnyChunks, Piece, Place, content_of, read_piece, xattrs_of
from repositories.engine.restore.existing import Policy, Verdict
from repositories.engine.restore.lacking import report_lacking
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import UNFINISHED_FILE, is_unfinished

_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AHEAD: Final = 4
_FATAL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


Data = bytes | memoryview


@dataclass(frozen=True, slots=True)
class FileTask:
    """One file to write. `inherits` = its directory would give it an ACL that the backup does not know.

    `first` is where its first chunk lies, if that is known; `readers` read a large file ahead.
    """

    directory: int
    path: bytes
    entry: Entry
    inherits: bool = False
    first: Place | None = None
    readers: ThreadPoolExecutor | None = None


class FileWriter:
    """Writes files for one restore; `taken` is told of content before it is written (bandwidth, cancel)."""

    def __init__(self, source: AnyChunks, policy: Policy, tally: Tally, taken: Callable[[int], None]) -> None:
        self._source = source
        self._policy = policy
        self._tally = tally
        self._taken = taken

    def write(self, task: FileTask) -> None:
        """Restore a file; what goes wrong with it alone is counted.

        Raises RestoreTargetError when the target as a whole takes no more, and errors of the repository's medium.
        """
        try:
            opened = self._open(task)
            if opened is not None:
                self._fill(task, *opened)
        except (IntegrityError, ObjectMissingError):
            self._tally.damaged(task.path)
        except OSError as error:
            raise_if_fatal(error)
            self._tally.failed(task.path, error)

    def _open(self, task: FileTask) -> tuple[int, bytes] | None:
        """Return (descriptor, name to write under), or None when what is there stays."""
        name = task.entry.name
        try:
            return os.open(name, _CREATE, UNFINISHED_FILE, dir_fd=task.directory), name
        except FileExistsError:
            status = os.stat(name, dir_fd=task.directory, follow_symlinks=False)
        verdict = self._policy.judge(task.directory, task.entry, status)
        if verdict is Verdict.IDENTICAL:
            self._tally.existing()
            if not self._policy.compares and task.entry.size:
                self._tally.not_compared()
            report_lacking(object_in(task.directory, name), status, task.entry, self._tally.warn)
            return None
        if verdict is Verdict.KEEP or not room_for(task.directory, name, status):
            self._tally.kept(task.path)
            return None
        temporary = temporary_name(name)
        _remove_leaving(task.directory, temporary)
        return os.open(temporary, _CREATE, UNFINISHED_FILE, dir_fd=task.directory), temporary

    def _fill(self, task: FileTask, descriptor: int, name: bytes) -> None:
        try:
            try:
                self._write_content(descriptor, task)
                self._set_attributes(descriptor, task)
            finally:
                os.close(descriptor)
            if name != task.entry.name:
                os.rename(name, task.entry.name, src_dir_fd=task.directory, dst_dir_fd=task.directory)
        except BaseException:
            # Half a file is worse than none: it would pass for the whole.
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=task.directory)
            raise
        self._tally.restored(task.entry)

    def _write_content(self, descriptor: int, task: FileTask) -> None:
        position = written_to = 0
        for piece, loading in self._load(task):
            if loading is not None:
                data = loading.result() if isinstance(loading, Future) else loading
                if data is None or len(data) != piece.length:
                    raise IntegrityError("a chunk has another length than its place says", hint="run check")
                self._taken(piece.length)
                _write_all(descriptor, data, position)
                written_to = position + piece.length
            position += piece.length
        self._tally.wrote(written_to)
        if position > written_to:
            os.ftruncate(descriptor, position)

    def _load(self, task: FileTask) -> Iterator[tuple[Piece, Future[Data | None] | Data | None]]:
        """Yield the pieces with their data; with readers, a few of them are being read ahead."""
        pieces = content_of(self._source, task.entry, task.first)
        if task.readers is None:
            for piece in pieces:
                yield piece, self._read(piece)
            return
        ahead: deque[tuple[Piece, Future[Data | None] | None]] = deque()
        for piece in pieces:
            ahead.append((piece, task.readers.submit(self._read, piece) if piece.chunk is not None else None))
            if len(ahead) > _AHEAD:
                yield ahead.popleft()
        yield from ahead

    def _read(self, piece: Piece) -> Data | None:
        if piece.chunk is None or piece.place is None:
            return None
        return read_piece(self._source, piece.chunk, piece.place)

    def _set_attributes(self, descriptor: int, task: FileTask) -> None:
        if task.inherits:
            remove_inherited_acls(descriptor)
        apply_to_descriptor(descriptor, attributes_of(self._source, task.entry), self._tally.warn)


def attributes_of(source: AnyChunks, entry: Entry) -> Attributes:
    """Return what to set on a restored object; raises IntegrityError, ObjectMissingError for long attribute values."""
    return Attributes(entry.mode, entry.uid, entry.gid, entry.mtime_ns, xattrs_of(source, entry.xattrs))


def temporary_name(name: bytes) -> bytes:
    """Return the name under which a replacement is made: the same one in each try, so that leavings are found."""
    return b".syncova-" + blake3.blake3(name).hexdigest(8).encode() + b".part"


def room_for(directory: int, name: bytes, status: os.stat_result) -> bool:
    """Make room for a replacement: an empty directory goes, a full one stays (False); the rest is renamed over."""
    if not stat.S_ISDIR(status.st_mode):
        return True
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError:
        return False
    return True


def raise_if_fatal(error: OSError) -> None:
    """Raise RestoreTargetError when going on with other files makes no sense; its message lacks the target's name."""
    if error.errno in _FATAL:
        raise RestoreTargetError(
            f"takes no more: {error.strerror}", hint="make room or repair it, then run the restore again"
        ) from error


def _remove_leaving(directory: int, temporary: bytes) -> None:
    try:
        status = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if is_unfinished(status):
        os.unlink(temporary, dir_fd=directory)


def _write_all(descriptor: int, data: bytes | memoryview, position: int) -> None:
    count = os.pwrite(descriptor, data, position)
    while count < len(data):
        data = memoryview(data)[count:]
        position += count
        count = os.pwrite(descriptor, data, position)
