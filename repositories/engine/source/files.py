"""Opens regular files of a source safely, and reads the parts that hold data.

Owns the flags: no link is followed, nothing but a regular file is read, a FIFO or device that took a file's place
never blocks. Sources are never mapped into memory: a file that shrinks would kill the process.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator

from repositories.engine.source.status import Status

FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_WORTH_LOOKING = 64 * 1024
_LEASE_TRIES = 5
_LEASE_SECONDS = 0.1


class TypeChangedError(OSError):
    """Something else than a regular file stands where the walk saw one."""


def open_regular(name: bytes, directory: int) -> tuple[int, os.stat_result]:
    """Open a regular file; return descriptor and fstat. Raises OSError, TypeChangedError (with ELOOP) among them."""
    descriptor = _open_patiently(name, directory)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise TypeChangedError(errno.ELOOP, "no longer a regular file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, status


def _open_patiently(name: bytes, directory: int) -> int:
    for _ in range(_LEASE_TRIES):
        try:
            return os.open(name, FILE_FLAGS, dir_fd=directory)
        except BlockingIOError:
            # Someone holds a lease on it (a file server does); our try has asked them to let go.
            time.sleep(_LEASE_SECONDS)
    return os.open(name, FILE_FLAGS, dir_fd=directory)


def may_have_holes(status: Status) -> bool:
    """Return whether so much less is allocated than the size needs that looking for holes is worth it.

    Small gaps are no holes: content within the inode, compression. And some file systems were wrong about holes of
    what had just been written: not asking them is safer, zeros are found anyway.
    """
    return status.st_size - status.st_blocks * 512 >= _WORTH_LOOKING


def segments(descriptor: int, size: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, is data) of a file in order, up to `size`.

    Where the file system cannot tell, the rest is data. Raises OSError.
    """
    position = 0
    while position < size:
        start = _seek(descriptor, position, os.SEEK_DATA, size)
        if start > position:
            yield position, start, False
        if start >= size:
            return
        end = max(_seek(descriptor, start, os.SEEK_HOLE, size), start + 1)
        yield start, min(end, size), True
        position = end


def _seek(descriptor: int, position: int, whence: int, size: int) -> int:
    try:
        return min(os.lseek(descriptor, position, whence), size)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size
        if error.errno in (errno.EINVAL, errno.ENOTSUP):
            return position if whence == os.SEEK_DATA else size
        raise


def unchanged_since(before: Status, after: Status) -> bool:
    """Return whether size and times say that nothing was written between two fstats."""
    return (
        before.st_size == after.st_size
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
    )
