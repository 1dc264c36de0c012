"""What an operating system error on the medium means.

Owns the one mapping from errno to the storage's error classes, for backends and for files on their way there.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from repositories.engine.errors import ObjectMissingError, RepositoryError, StorageFullError, StorageReadOnlyError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


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
                f"{shown} could not be written: {reason}", hint="make room on the medium, then run again"
            ) from error
        if error.errno in _READ_ONLY:
            raise StorageReadOnlyError(
                f"{shown}: {reason}", hint="check the mount and the permissions of the repository directory"
            ) from error
        raise RepositoryError(f"{shown}: {reason}", hint="check the medium, then run again") from error
