"""Directories of the backup that a restore does not enter, and whom that is due to: the target, its people, or damage.

Owns telling these apart. What the manifest never made a directory is damage; a directory that the restore made or met
and finds gone, or as something else, was exchanged in the target by somebody. Used by one thread.
"""

import errno
from typing import Final

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.entries import EntryType, StreamRef
from repositories.engine.manifest.near_listings import NearListings
from repositories.engine.manifest.order import join, split
from repositories.engine.restore.collisions import Collisions
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.tally import Tally

_SWAPPED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE})


class LeftOut:
    """Those of one restore. Paths are relative to the target; "" is the target itself."""

    def __init__(self, source: ChunkSource, pages: StreamRef | None, tally: Tally, collisions: Collisions) -> None:
        self._source = source
        self._pages = pages
        self._tally = tally
        self._collisions = collisions
        self._blocked: set[bytes] = set()
        self._counted: set[bytes] = set()
        self._known: set[bytes] = set()

    def block(self, directory: bytes) -> None:
        """A directory cannot be made or entered, which is counted: what lies below it is kept out."""
        self._blocked.add(directory)

    def is_blocked(self, directory: bytes) -> bool:
        """Return whether a directory is one that cannot be entered, or lies below one."""
        return _is_in(self._blocked, directory)

    def keep(self, selected: Selected) -> None:
        """Count what belongs into a blocked directory."""
        for entry, _ in selected.entries:
            self._tally.kept(join(selected.directory, entry.name))

    def closed(self, selected: Selected, error: OSError) -> None:
        """Count what belongs into a directory that could not be entered while objects are made."""
        self._counted.add(selected.directory)
        # Very many may lie below one that is gone: those are not looked up one by one.
        known = _is_in(self._known, selected.directory) or self._is_directory(selected.directory)
        if known:
            self._known.add(selected.directory)
        for entry, _ in selected.entries:
            path = join(selected.directory, entry.name)
            if not known:
                self._tally.damaged(path)
            elif error.errno in _SWAPPED:
                self._tally.swapped(path)
            else:
                self._tally.failed(path, error)

    def gone(self, directory: bytes, error: OSError) -> None:
        """Count a directory that was entered before, and cannot be any more, unless that has been counted."""
        if error.errno not in _SWAPPED or self._is_counted(directory):
            return
        self._counted.add(directory)
        self._tally.swapped(directory)

    def _is_counted(self, directory: bytes) -> bool:
        return directory in self._counted or self.is_blocked(directory) or self._collisions.holds(directory)

    def _is_directory(self, path: bytes) -> bool:
        """Return whether the manifest has a directory at a path, and at all above it."""
        listings = NearListings(self._source, self._pages)
        above = b""
        for name in path.split(b"/"):
            try:
                kinds = [entry.type for entry in listings.entries_of(above) if entry.name == name]
            except (IntegrityError, ObjectMissingError):
                return False
            if EntryType.DIRECTORY not in kinds:
                return False
            above = join(above, name)
        return True


def _is_in(directories: set[bytes], path: bytes) -> bool:
    """Return whether a path is one of these directories, or lies below one."""
    while directories and path:
        if path in directories:
            return True
        path = split(path)[0]
    return False
