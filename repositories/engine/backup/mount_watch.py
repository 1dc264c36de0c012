"""Directories of a source on which other file systems are mounted, or were in the last backup (2.6).

Owns what their entries say about it, and what is told when a file system that was backed up here is not mounted now. It
is told in each backup until the file system is there again or somebody accepts the new state: the entry carries it on.
Compared is with the parent alone: a checkpoint may be of a try that had accepted it.
"""

import contextlib
import os
from collections.abc import Callable

from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.manifest.entries import FLAG_MOUNT_POINT, FLAG_UNMOUNTED
from repositories.engine.manifest.known_pages import Found
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.descent import DIRECTORY_FLAGS
from repositories.engine.source.directory import Listing
from repositories.engine.source.filesystems import PSEUDO_TYPES
from repositories.engine.source.mounts import Mount, mount_at, mount_id
from repositories.engine.source.status import Status

MOUNT_FLAGS = FLAG_MOUNT_POINT | FLAG_UNMOUNTED
Parent = Callable[[bytes], Found | None]
"""Returns the parent's entry of a name in the directory at hand."""

# Containers mount and unmount these all the time; the directories that they are made of lie elsewhere.
_PASSING = frozenset({"overlay"})
_IN_LAST = "the file system that was mounted here in the last backup is not"
_MEANWHILE = "its file system was unmounted while the source was read"


class MountWatch:
    """Looks at the directories of one walk. With `accepted`, what is missing against the last backup is right.

    `parent` is asked for the parent's entries; None: they are those that `look` is given.
    """

    def __init__(self, parent: Parent | None, problems: ProblemLog, *, one_file_system: bool, accepted: bool) -> None:
        self._parent = parent
        self._problems = problems
        self._one_file_system = one_file_system
        self._accepted = accepted

    def look(self, directory: Listing, name: bytes, status: Status, found: Found | None) -> int:
        """Return the flags about mounting of a directory's entry, having told of what is missing."""
        if self._parent is not None:
            found = self._parent(name)
        known = found[0].flags & MOUNT_FLAGS if found is not None else 0
        if not known and status.st_dev == directory.device and name not in directory.mounts:
            # In a word: this is the way of nearly all directories.
            return 0
        # What was bound onto itself holds the same without that.
        same = known == FLAG_MOUNT_POINT and found is not None and found[0].inode == status.st_ino
        return self._look_closer(directory, name, _mount_at(directory, name, status), known=known, same=same)

    def _look_closer(self, directory: Listing, name: bytes, mount: Mount | None, *, known: int, same: bool) -> int:
        entered, listed = directory.is_to_be_entered(name), name in directory.mounts
        if mount is not None and entered:
            return 0 if mount.type in _PASSING or _is_bare(directory, name) else FLAG_MOUNT_POINT
        if entered:
            is_missing = (known or listed) and not same
        else:
            # A rule of the source leaves it out, or what the kernel makes up lies there: an automounter, say.
            is_missing = known and not self._one_file_system and mount is not None and mount.type in PSEUDO_TYPES
        return self._missing(directory, name, entered=entered, listed=listed) if is_missing else 0

    def _missing(self, directory: Listing, name: bytes, *, entered: bool, listed: bool) -> int:
        kind, detail = ProblemKind.UNMOUNTED, _IN_LAST
        if listed and entered:
            # No state that somebody could have seen and accepted.
            detail = _MEANWHILE
        elif self._accepted:
            return 0
        elif entered and not _is_bare(directory, name):
            kind, detail = ProblemKind.LEFTOVERS, f"{_IN_LAST}; what lies here instead was backed up"
        self._problems.report(kind, directory.join(name), detail)
        return FLAG_UNMOUNTED


def _mount_at(directory: Listing, name: bytes, status: Status) -> Mount | None:
    try:
        descriptor = directory.descriptor
    except OSError:
        # It is gone, and with it what was mounted in it.
        return None
    if mount_id(descriptor) is not None:
        return mount_at(descriptor, name)
    # Without /proc, the number of the device tells most of it.
    return None if status.st_dev == directory.device else Mount(0, b"", "")


def _is_bare(directory: Listing, name: bytes) -> bool:
    """Return whether nothing can be seen in it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=directory.descriptor)
        try:
            with os.scandir(descriptor) as found:
                return next(found, None) is None
        finally:
            os.close(descriptor)
    return False
