"""Storage in a local directory: temporary file, fsync, rename, fsync of the directory.

Owns durability and permissions on a mounted file system. Directories are 0700, objects 0400. Relies on neither hard
links nor locks, which network mounts lack.
"""

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from repositories.engine.display import show_path
from repositories.engine.errors import (
    ConfigurationError,
    ObjectExistsError,
    RepositoryError,
    RepositoryExistsError,
)
from repositories.engine.format.kinds import DIRECTORIES
from repositories.engine.fresh_files import remove_file
from repositories.engine.storage.base import Storage, StoredObject, validate_name, validate_prefix
from repositories.engine.storage.medium import medium_errors, no_file
from repositories.engine.storage.networks import listing_delay_of
from repositories.engine.storage.scanning import SCRATCH, scan, scan_sizes
from repositories.engine.storage.scratch import ScratchDirectory

_ASIDE = "aside/"
_LEFT_BY_CREATION = frozenset({SCRATCH, "slots", "keyrings", "copies", "lost+found"})
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
_COPY_LENGTH = 1024 * 1024
_T = TypeVar("_T")
_Scan = Callable[[str, str], tuple[_T, list[str]]]


class LocalStorage(Storage):
    """Objects as files below one directory. Thread safe: each call uses its own descriptors."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._known_directories: set[str] = set()
        self._scratch = ScratchDirectory(self._full(SCRATCH))
        self._lock = threading.Lock()

    @property
    def place(self) -> str:
        """Return the directory, shown safely."""
        return show_path(os.fsencode(self.path))

    @property
    def looks_are_cheap(self) -> bool:
        """A listing asks the file system for the size of each file, too."""
        return True

    def prepare(self) -> None:
        """Make the directory (0700) if it is missing; refuse one that holds anything but a creation that died."""
        try:
            os.makedirs(self.path, mode=0o700)
        except FileExistsError:
            self._require_empty_directory()
        except OSError as error:
            raise RepositoryError(
                f"{self.place} cannot be made: {error.strerror}", hint="choose a directory that you may write to"
            ) from error

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store an object; durable when it returns."""

        def write(descriptor: int) -> None:
            _write_all(descriptor, memoryview(data))

        with self._errors(name, writing=True):
            self._refuse_existing(name, overwrite=overwrite)
            path = self._new_scratch_file(write)
            self._settle(path, name)

    def put_file(self, name: str, path: str) -> None:
        """Move (same file system) or copy the file into place; durable when it returns."""
        with self._errors(name, writing=True):
            self._refuse_existing(name, overwrite=False)
            if os.path.dirname(os.path.abspath(path)) == self._scratch.path:
                with open(path, "rb") as file:
                    os.fchmod(file.fileno(), 0o400)
                    os.fsync(file.fileno())
                self._settle(path, name)
                return
            copy = self._new_scratch_file(lambda descriptor: _copy_into(descriptor, path))
            self._settle(copy, name)
            remove_file(path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a part of an object, read with pread until it is complete or the file ends."""
        with self._errors(name):
            descriptor = self._open(validate_name(name))
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise no_file(name, found.st_mode)
                # Never more than is there: the memory for what is asked is taken before it is read.
                there = max(found.st_size - offset, 0)
                return _read_range(descriptor, offset, there if length is None else min(length, there))
            finally:
                os.close(descriptor)

    def size(self, name: str) -> int:
        """Return the object's size."""
        with self._errors(name):
            found = os.lstat(self._full(validate_name(name)))
        if not stat.S_ISREG(found.st_mode):
            raise no_file(name, found.st_mode)
        return found.st_size

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the regular files below `prefix`, without those that are still being written."""
        for found in self._each_below(prefix, scan):
            yield from found

    def sizes(self, prefix: str) -> Iterator[Mapping[str, int]]:
        """Yield what `list` does, one directory at a time."""
        for found in self._each_below(prefix, scan_sizes):
            if found:
                yield found

    def _each_below(self, prefix: str, look: _Scan[_T]) -> Iterator[_T]:
        """Yield what `look` finds in each directory below `prefix`."""
        validate_prefix(prefix)
        pending = [prefix]
        while pending:
            directory = pending.pop()
            with self._errors(directory):
                found, deeper = look(self.path, directory)
            pending.extend(deeper)
            yield found

    def delete(self, name: str) -> None:
        """Remove an object; what it leaves empty of the directories of a repair goes, too."""
        with self._errors(name):
            os.unlink(self._full(validate_name(name)))
        if name.startswith(_ASIDE):
            self._remove_empty(os.path.dirname(name))

    def move(self, name: str, target: str) -> None:
        """Rename an object, in one step; durable when it returns. Needs no room but for directories."""
        self.size(name)
        directory = os.path.dirname(target)
        with self._errors(target, writing=True):
            self._refuse_existing(target, overwrite=False)
            self._require_directory(directory)
            os.rename(self._full(name), self._full(target))
            for changed in {directory, os.path.dirname(name)}:
                _sync_directory(self._full(changed))

    def free_space(self) -> int | None:
        """Return the bytes that this user may still write."""
        try:
            found = os.statvfs(self.path)
        except OSError:
            return None
        return found.f_bavail * found.f_frsize

    def listing_delay(self) -> float:
        """Return how long a network mount's clients keep directories."""
        return listing_delay_of(self.path)

    def scratch_directory(self) -> str | None:
        """Return the directory whose files put_file moves instead of copying."""
        with self._errors(SCRATCH, writing=True):
            return self._require_scratch()

    def _open(self, name: str) -> int:
        """Return a descriptor for reading; links are never followed, and nobody is waited for. Raises OSError."""
        try:
            return os.open(self._full(name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise no_file(name, stat.S_IFLNK) from error
            raise

    def _remove_empty(self, directory: str) -> None:
        with contextlib.suppress(OSError):
            while directory:
                os.rmdir(self._full(directory))
                with self._lock:
                    self._known_directories.discard(directory)
                directory = os.path.dirname(directory)

    def _full(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _errors(self, name: str, *, writing: bool = False) -> contextlib.AbstractContextManager[None]:
        return medium_errors(name, place=self.place, writing=writing)

    def _require_empty_directory(self) -> None:
        if not os.path.isdir(self.path):
            raise ConfigurationError(f"{self.place} is not a directory", hint="choose a new or empty directory")
        with self._errors(""):
            free = all(self._is_left_by_creation(name) for name in os.listdir(self.path))
        if not free:
            raise RepositoryExistsError(
                f"{self.place} holds files already",
                hint="choose a new or empty directory; an existing repository is used, not created again",
            )

    def _is_left_by_creation(self, name: str) -> bool:
        """Tell whether a creation that failed or died may have left this: files before the config, else directories."""
        if name in _LEFT_BY_CREATION:
            return True
        return name in DIRECTORIES.values() and not any(files for _, _, files in os.walk(self._full(name)))

    def _refuse_existing(self, name: str, *, overwrite: bool) -> None:
        validate_name(name)
        if not overwrite and os.path.lexists(self._full(name)):
            raise ObjectExistsError(f"{name} is there already", hint="run check")

    def _new_scratch_file(self, write: Callable[[int], None]) -> str:
        path = os.path.join(self._require_scratch(), os.urandom(16).hex())
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            try:
                write(descriptor)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            # A full medium must not stay full of what did not fit.
            _unlink_quietly(path)
            raise
        return path

    def _require_scratch(self) -> str:
        self._require_directory(SCRATCH)
        with self._lock:
            return self._scratch.require()

    def _settle(self, path: str, name: str) -> None:
        directory = os.path.dirname(name)
        try:
            self._require_directory(directory)
            os.rename(path, self._full(name))
        except BaseException:
            _unlink_quietly(path)
            raise
        _sync_directory(self._full(directory))

    def _require_directory(self, directory: str) -> None:
        if directory in self._known_directories or not directory:
            return
        self._require_directory(os.path.dirname(directory))
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._full(directory), 0o700)
            _sync_directory(os.path.dirname(self._full(directory)))
        with self._lock:
            self._known_directories.add(directory)


def _write_all(descriptor: int, data: memoryview) -> None:
    with data.cast("B") as rest:
        done = 0
        while done < len(rest):
            done += os.write(descriptor, rest[done:])


def _copy_into(descriptor: int, path: str) -> None:
    with open(path, "rb") as source:
        while piece := source.read(_COPY_LENGTH):
            _write_all(descriptor, memoryview(piece))


def _read_range(descriptor: int, offset: int, length: int) -> bytes:
    piece = os.pread(descriptor, length, offset)
    if len(piece) == length or not piece:
        return piece
    pieces = [piece]
    done = len(piece)
    while done < length and (piece := os.pread(descriptor, length - done, offset + done)):
        pieces.append(piece)
        done += len(piece)
    return b"".join(pieces)


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Several network and foreign file systems have no such call; the rename is as durable there as it gets.
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(descriptor)


def _unlink_quietly(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
