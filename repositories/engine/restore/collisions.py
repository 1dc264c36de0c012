"""Names of one directory that the target takes for one: on file systems that ignore case, normalise, or shorten.

Owns telling such directories from ordinary ones, and who collides with whom. Ordinary ones cost one probe for each
file system. Elsewhere what counts is what the file system says: the object that is met under a name is one that this
restore made or met in this directory under another name. The second of two such names is not restored, whatever may be
overwritten, and neither is anything below it.
"""

import contextlib
import fcntl
import os
import stat
import struct
import unicodedata
from typing import Final

from repositories.engine.manifest.order import join, split
from repositories.engine.restore.publishing import probe_name
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.writing import look

_GET_FLAGS: Final = 0x80086601 if struct.calcsize("l") == 8 else 0x80046601
_CASE_FOLDED: Final = 0x40000000
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Names:
    """The names of one directory that have been restored, or met there. `needed` = also in the second pass.

    `partial` = the backup may hold others in it that are not restored now: what is listed under another name, but for
    the way in which accents are written, may be one of them.
    """

    def __init__(self, *, partial: bool = False) -> None:
        self.needed = False
        self._partial = partial
        self._by_identity: dict[tuple[int, int], bytes] = {}
        self._by_likeness: dict[str, list[bytes]] = {}

    def rival(self, directory: int, name: bytes) -> bytes | None:
        """Return the other name that the object met under `name` was restored as. Raises OSError."""
        status = look(directory, name)
        if status is None:
            return None
        # Some file systems number their inodes anew when memory is short: then likeness tells whom to look at.
        known = self._by_identity.get((status.st_dev, status.st_ino))
        others: list[bytes] = [*self._by_likeness.get(_likeness(name), ()), *([known] if known is not None else [])]
        for other in others:
            if other != name and _are_one(directory, other, name, status):
                return other
        return _listed_name(directory, name, status) if self._partial else None

    def took(self, directory: int, name: bytes) -> None:
        """Remember a name that has been dealt with, and what it leads to."""
        with contextlib.suppress(OSError):
            status = look(directory, name)
            if status is not None:
                self._by_identity[status.st_dev, status.st_ino] = name
                self._by_likeness.setdefault(_likeness(name), []).append(name)


class Collisions:
    """Those of one restore. Used by one thread."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._exact: dict[tuple[int, bool], bool] = {}
        self._names: dict[bytes, Names] = {}
        self._current: tuple[bytes, Names | None] | None = None
        self._directories: set[bytes] = set()

    def enter(self, directory: int, path: bytes, *, partial: bool) -> Names | None:
        """Return what is known of an open directory's names; None where each name is an object of its own.

        See Names for `partial`.
        """
        if self._current is None or self._current[0] != path:
            self._leave()
            self._current = (path, None if self._is_exact(directory) else Names(partial=partial))
        return self._current[1]

    def again(self, path: bytes) -> Names | None:
        """Return the names of a directory for the second pass, if any of them is still to be made."""
        self._leave()
        return self._names.get(path)

    def note(self, path: bytes, rival: bytes, *, is_directory: bool) -> None:
        """The object at `path` is not restored: in its directory, `rival` is the same name."""
        self._tally.collided(path, join(split(path)[0], rival))
        if is_directory:
            self._directories.add(path)

    def holds(self, path: bytes) -> bool:
        """Return whether `path` is a directory that collided, or lies below one: another one is met there."""
        while self._directories:
            if path in self._directories:
                return True
            if not path:
                break
            path = split(path)[0]
        return False

    def _leave(self) -> None:
        if self._current is not None and self._current[1] is not None and self._current[1].needed:
            self._names[self._current[0]] = self._current[1]
        self._current = None

    def _is_exact(self, directory: int) -> bool:
        key = (os.fstat(directory).st_dev, _is_case_folded(directory))
        if key not in self._exact:
            exact = _probe(directory)
            if exact is None:
                return False  # the next directory may tell
            self._exact[key] = exact
        return self._exact[key]


def _probe(directory: int) -> bool | None:
    """Return whether a directory tells apart names that many do not; None if that cannot be found out."""
    before = os.fstat(directory)
    name = probe_name()
    variants = (name.swapcase(), name.lower(), unicodedata.normalize("NFD", name), name + ".", name + " ")
    try:
        os.close(os.open(name.encode(), _CREATE, 0o600, dir_fd=directory))
        try:
            return all(look(directory, variant.encode()) is None for variant in variants)
        finally:
            os.unlink(name.encode(), dir_fd=directory)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.utime(directory, ns=(before.st_atime_ns, before.st_mtime_ns))


def _is_case_folded(directory: int) -> bool:
    """Return whether a directory differs from others of its file system in that it ignores case."""
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(directory, _GET_FLAGS, bytes(struct.calcsize("l"))))
    except OSError:
        return False
    return bool(flags & _CASE_FOLDED)


def _likeness(name: bytes) -> str:
    text = unicodedata.normalize("NFKC", name.decode("utf-8", "surrogateescape")).casefold()
    return unicodedata.normalize("NFKC", text).rstrip(" .")


def _listed_name(directory: int, name: bytes, status: os.stat_result) -> bytes | None:
    """Return the name under which an object is listed if that is another one than `name`."""
    listed = list(map(os.fsencode, os.listdir(directory)))
    if name in listed:
        return None
    for other in listed:
        there = look(directory, other)
        if there is not None and (there.st_dev, there.st_ino) == (status.st_dev, status.st_ino):
            return None if _composed(other) == _composed(name) else other
    return None


def _composed(name: bytes) -> str:
    return unicodedata.normalize("NFC", name.decode("utf-8", "surrogateescape"))


def _are_one(directory: int, other: bytes, name: bytes, status: os.stat_result) -> bool:
    """Return whether two names are one entry of a directory; two hard links to one file are not."""
    there = look(directory, other)
    if there is None or (there.st_dev, there.st_ino) != (status.st_dev, status.st_ino):
        return False
    if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
        return True
    return not {other, name} <= set(map(os.fsencode, os.listdir(directory)))
