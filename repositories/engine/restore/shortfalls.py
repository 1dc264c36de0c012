"""What file systems of the target could not take, counted by class and file system.

Owns the classes of objects that are refused as such, and the bounded count: however many objects are concerned, there
is one line for each class on each file system.
"""

import enum
import errno
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.restore.file_systems import FileSystem, FileSystems, Place

LISTED: Final = 100


class Refused(enum.StrEnum):
    """Why a file system takes an object not at all."""

    DEVICE = "device"
    FIFO = "fifo"
    LINK = "link"
    NAME = "name"
    FILE_SIZE = "file_size"


_NAMES: Final = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL})
_UNKNOWN_KIND: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.ENODEV})
_KINDS: Final = {
    EntryType.CHARACTER_DEVICE: Refused.DEVICE,
    EntryType.BLOCK_DEVICE: Refused.DEVICE,
    EntryType.FIFO: Refused.FIFO,
    EntryType.LINK: Refused.LINK,
}


def refused_as(entry: Entry, error: OSError) -> Refused | None:
    """Return the class of an object that a file system does not take; None when it is not of a class."""
    if error.errno == errno.EFBIG:
        return Refused.FILE_SIZE
    if error.errno in _NAMES:
        return Refused.NAME
    if error.errno in _UNKNOWN_KIND and entry.type in _KINDS:
        return _KINDS[EntryType(entry.type)]
    return None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """`count` objects on one file system lack `kind`, or are not there for it; why, and one of them."""

    kind: str
    file_system: FileSystem
    count: int
    reason: str
    example: bytes


class Shortfalls:
    """Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file_systems = FileSystems()
        self._counts: Counter[tuple[str, FileSystem]] = Counter()
        self._first: dict[tuple[str, FileSystem], tuple[str, bytes]] = {}

    def add(self, kind: str, place: Place, path: bytes, error: OSError) -> None:
        """Count an object at `path`; `place` tells the file system."""
        key = (kind, self._file_systems.of(place))
        with self._lock:
            if key not in self._first and len(self._first) >= LISTED:
                key = (kind, FileSystem())  # hundreds of mounts below one target: the rest is told as one
            self._counts[key] += 1
            if key not in self._first:
                self._first[key] = (error.strerror or str(error), path)

    def result(self) -> list[Shortfall]:
        """Return them by class, each class by mount point."""
        with self._lock:
            keys = sorted(self._counts, key=lambda key: (key[0], key[1].mount_point))
            return [Shortfall(*key, self._counts[key], *self._first[key]) for key in keys]
