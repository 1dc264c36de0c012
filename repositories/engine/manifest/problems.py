"""What was not perfect about a backup: three severities, stable classes, and the record kept in the manifest.

Owns the words (engine.md, section 3). Who decides that something is a problem is the source and the backup.
"""

import enum
import errno
from collections.abc import Iterator

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import UNDECODABLE
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import StreamRef
from repositories.engine.manifest.streams import read_records


class Severity(enum.IntEnum):
    """SKIPPED: it should be in and is not. WARNING: it is in, imperfectly. NOTE: not meant to be in, or gone."""

    SKIPPED = 1
    WARNING = 2
    NOTE = 3


class ProblemKind(enum.StrEnum):
    """What happened to an object of the source; stored, so that names are only ever added."""

    PERMISSION = "permission"
    IO_ERROR = "io_error"
    TYPE_CHANGED = "type_changed"
    PATH_TOO_LONG = "path_too_long"
    DUPLICATE_NAME = "duplicate_name"
    STILL_CHANGING = "still_changing"
    ATTRIBUTE = "attribute"
    PARENT_UNREADABLE = "parent_unreadable"
    MOUNTED = "mounted"
    SOCKET = "socket"
    UNKNOWN_TYPE = "unknown_type"
    EXCLUDED = "excluded"
    OTHER_FILE_SYSTEM = "other_file_system"
    PSEUDO_FILE_SYSTEM = "pseudo_file_system"
    OWN_DATA = "own_data"
    VANISHED = "vanished"
    CACHE_DIRECTORY = "cache_directory"
    CONTENT_CHANGED = "content_changed"
    NOT_READ_AGAIN = "not_read_again"
    UNMOUNTED = "unmounted"
    LEFTOVERS = "leftovers"


SEVERITIES = {
    ProblemKind.PERMISSION: Severity.SKIPPED,
    ProblemKind.IO_ERROR: Severity.SKIPPED,
    ProblemKind.TYPE_CHANGED: Severity.SKIPPED,
    ProblemKind.PATH_TOO_LONG: Severity.SKIPPED,
    ProblemKind.DUPLICATE_NAME: Severity.SKIPPED,
    ProblemKind.STILL_CHANGING: Severity.WARNING,
    ProblemKind.ATTRIBUTE: Severity.WARNING,
    ProblemKind.PARENT_UNREADABLE: Severity.WARNING,
    ProblemKind.MOUNTED: Severity.WARNING,
    ProblemKind.SOCKET: Severity.NOTE,
    ProblemKind.UNKNOWN_TYPE: Severity.SKIPPED,
    ProblemKind.EXCLUDED: Severity.NOTE,
    ProblemKind.OTHER_FILE_SYSTEM: Severity.NOTE,
    ProblemKind.PSEUDO_FILE_SYSTEM: Severity.NOTE,
    ProblemKind.OWN_DATA: Severity.NOTE,
    ProblemKind.VANISHED: Severity.NOTE,
    ProblemKind.CACHE_DIRECTORY: Severity.NOTE,
    ProblemKind.CONTENT_CHANGED: Severity.WARNING,
    ProblemKind.NOT_READ_AGAIN: Severity.WARNING,
    ProblemKind.UNMOUNTED: Severity.SKIPPED,
    ProblemKind.LEFTOVERS: Severity.WARNING,
}

REGULAR_FILE, DIRECTORY, SYMBOLIC_LINK = "regular file", "directory", "symbolic link"

_DENIED = frozenset({errno.EACCES, errno.EPERM})
_SWAPPED = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO})


class Problem(msgspec.Struct, frozen=True):
    """One object of the source that is not in the backup, or not perfectly. `path` is relative to the source."""

    severity: Severity
    kind: ProblemKind
    path: bytes
    detail: str = ""


class ProblemRecord(msgspec.Struct, array_like=True, frozen=True):
    """A problem as it is stored: one record of the problem stream."""

    severity: int
    kind: str
    path: bytes
    detail: str


class ProblemCount(msgspec.Struct, array_like=True, frozen=True):
    """How often a kind of problem occurred; notes are only counted."""

    severity: int
    kind: str
    count: int


_decoder = msgspec.msgpack.Decoder(ProblemRecord)


def classify(error: OSError) -> ProblemKind:
    """Return what a failed call on an object of the source means.

    ESTALE is no sign that the object is gone: a server that was restarted or unmounted says it of all it holds.
    """
    if error.errno == errno.ENOENT:
        return ProblemKind.VANISHED
    if error.errno in _DENIED:
        return ProblemKind.PERMISSION
    if error.errno in _SWAPPED:
        return ProblemKind.TYPE_CHANGED
    return ProblemKind.IO_ERROR


def reason_of(error: OSError, was: str) -> str:
    """Return why a call failed on what was `was` ("directory", "regular file", "symbolic link") when it was listed.

    What took its place makes calls fail in words that mislead ("Not a directory" of what is now a link).
    """
    swapped = classify(error) is ProblemKind.TYPE_CHANGED
    # readlink says so of anything else.
    if swapped or (error.errno == errno.EINVAL and was == SYMBOLIC_LINK):
        return f"no longer a {was}"
    return error.strerror or str(error)


def read_problems(source: ChunkSource, top: StreamRef | None) -> Iterator[ProblemRecord]:
    """Yield the problems that a backup carries, in the order in which they were met."""
    for raw in read_records(source, top):
        try:
            yield _decoder.decode(raw)
        except UNDECODABLE as error:
            raise IntegrityError(f"a problem list cannot be decoded: {error}") from error
