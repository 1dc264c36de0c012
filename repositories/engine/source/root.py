"""The root of a source: a directory, one file, or `/`; and what of it must never be backed up.

Owns opening the root and refusing sources that are missing or that lie inside Syncova's own data.
"""

import os
import stat
from collections.abc import Iterable

import msgspec

from repositories.engine.display import show_path
from repositories.engine.errors import ConfigurationError, SourceError, SourceMissingError

_PARENT_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class SourceRoot(msgspec.Struct, frozen=True):
    """An opened root. `only` is the file's name when the source is one file; the descriptor is its directory then."""

    path: bytes
    descriptor: int
    status: os.stat_result
    only: bytes | None


def identities(paths: Iterable[bytes]) -> frozenset[tuple[int, int]]:
    """Return (st_dev, st_ino) of the paths that exist: it holds through links and bind mounts alike."""
    found = set()
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def open_root(path: bytes, own: frozenset[tuple[int, int]]) -> SourceRoot:
    """Open the source at `path` (absolute; a link there is followed). The caller closes the descriptor.

    Raises SourceMissingError, SourceError (unreadable, not a file or directory), ConfigurationError (not absolute,
    or inside `own` data).
    """
    if not path.startswith(b"/") or b"\0" in path:
        raise ConfigurationError(f"source {show_path(path)} is no absolute path", hint="give it from / on")
    try:
        status = os.stat(path)
        _refuse_own(path, own)
        if stat.S_ISDIR(status.st_mode):
            descriptor = os.open(path, _PARENT_FLAGS)
            return SourceRoot(path, descriptor, os.fstat(descriptor), None)
        if stat.S_ISREG(status.st_mode):
            directory, name = os.path.split(os.path.realpath(path))
            return SourceRoot(path, os.open(directory, _PARENT_FLAGS), status, name)
    except FileNotFoundError as error:
        raise SourceMissingError(
            f"source {show_path(path)} does not exist", hint="is its file system mounted, is the path right?"
        ) from error
    except OSError as error:
        raise SourceError(
            f"source {show_path(path)} cannot be opened: {error.strerror}", hint="check permissions and the device"
        ) from error
    raise SourceError(
        f"source {show_path(path)} is neither a directory nor a regular file", hint="give a directory or a file"
    )


def _refuse_own(path: bytes, own: frozenset[tuple[int, int]]) -> None:
    if not own:
        return
    current = os.path.realpath(path)
    while True:
        status = os.stat(current)
        if (status.st_dev, status.st_ino) in own:
            raise ConfigurationError(
                f"source {show_path(path)} lies inside Syncova's own data or the repository",
                hint="a backup of itself would never end; give another directory",
            )
        if current == b"/":
            return
        current = os.path.dirname(current)
