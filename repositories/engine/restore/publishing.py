"""Brings a finished object from its temporary name to its own.

Owns the temporary names, and that nothing which is in the way by surprise is lost. Safe in several threads.
"""

import contextlib
import errno
import os
import stat

import blake3

from repositories.engine.restore.reasons import explained
from repositories.engine.restore.room import Room

_NO_LINKS = frozenset({errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})


def temporary_name(name: bytes) -> bytes:
    """Return the name under which an object is made: the same one in each try, so that leavings are found."""
    return b".syncova-" + blake3.blake3(name).hexdigest(8).encode() + b".part"


def clear_leaving(directory: int, temporary: bytes) -> None:
    """Remove what a broken-off restore left under a temporary name. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(temporary, dir_fd=directory)


def clear_twin(directory: int, name: bytes, status: os.stat_result) -> None:
    """Remove the temporary name of a whole object, should a kill have left it both. Raises OSError."""
    if status.st_nlink < 2 or stat.S_ISDIR(status.st_mode):
        return
    temporary = temporary_name(name)
    with contextlib.suppress(FileNotFoundError):
        twin = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
        if (twin.st_dev, twin.st_ino) == (status.st_dev, status.st_ino):
            os.unlink(temporary, dir_fd=directory)


def publish(directory: int, temporary: bytes, name: bytes) -> None:
    """Give an object a name that was free. Raises FileExistsError if it is not any more, and OSError."""
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without hard links there is a moment between the look and the renaming.
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=directory, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    os.unlink(temporary, dir_fd=directory)


def replace(directory: int, temporary: bytes, path: bytes, room: Room) -> None:
    """Put an object in the place of what is at `path`, which lies in the open `directory`. Raises OSError."""
    name = os.path.basename(path)
    room.make(directory, path)
    try:
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError as error:
        raise explained(error, directory, name) from error
