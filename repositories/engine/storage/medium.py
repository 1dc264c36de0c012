"""What an operating system error on the medium means.

Owns the one mapping from errno to the storage's error classes, for backends and for files on their way there.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from repositories.engine.errors import (
    EngineError,
    ObjectMissingError,
    RepositoryError,
    StorageFullError,
    StorageReadOnlyError,
    StorageRefusedError,
)
from repositories.engine.format.kinds import DIRECTORIES, ObjectKind
from repositories.engine.storage.base import Storage

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_OF_ONE_OBJECT = frozenset(
    {errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR, errno.ELOOP, errno.ENOTDIR, errno.EBADMSG}
)
_KINDS = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a directory"))


def is_of_one_object(error: RepositoryError) -> bool:
    """Tell whether a read may have failed for this one object alone: its permissions, a bad sector, what lies there.

    A stale mount, a host that is gone and the like concern the medium; so may these, if nothing else can be read.
    """
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _OF_ONE_OBJECT


def is_barred(error: EngineError) -> bool:
    """Tell whether a read failed since this user may not read the object: no damage, another user may find it whole."""
    return isinstance(error, StorageReadOnlyError | StorageRefusedError)


def require_medium(storage: Storage, error: RepositoryError) -> None:
    """Raise `error` if nothing else can be read either: no config, which every repository has."""
    try:
        config = next(iter(storage.list(DIRECTORIES[ObjectKind.CONFIG] + "/")), None)
        if config is not None:
            storage.get(config.name, 0, 1)
    except ObjectMissingError:
        return
    except RepositoryError:
        raise error from None


def no_file(name: str, mode: int) -> ObjectMissingError:
    """Return the error for an object in whose place something else lies; `mode` says what."""
    kind = next((text for test, text in _KINDS if test(mode)), "a special file")
    return ObjectMissingError(f"{kind} lies in the place of {name}", hint="put the file back, then run check")


@contextlib.contextmanager
def medium_errors(name: str, *, place: str = "", writing: bool = False) -> Iterator[None]:
    """Turn operating system errors into the storage's error classes, for the object `name` of the medium at `place`.

    A missing file is a missing object when reading; when writing it means that the medium itself is gone.
    """
    shown = f"{place}/{name}" if place and name else place or name
    try:
        yield
    except FileNotFoundError as error:
        if writing:
            raise RepositoryError(
                f"{shown} could not be written: the repository's directory is gone",
                hint="check the mount, then run again",
            ) from error
        raise ObjectMissingError(f"{name} is not in the repository", hint="run check") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in _FULL:
            raise StorageFullError(
                f"{shown} could not be written: {reason}",
                hint="make room on the medium (syncova-repo forget, then prune), then run again",
            ) from error
        if error.errno in _READ_ONLY:
            raise StorageReadOnlyError(
                f"{shown}: {reason}", hint="check the mount and the permissions of the repository directory"
            ) from error
        raise RepositoryError(f"{shown}: {reason}", hint="check the medium, then run again") from error
