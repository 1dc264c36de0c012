"""Brings a finished object from its temporary name to its own.

Owns the temporary names, and that nothing which is in the way by surprise is lost. Whatever a restore makes in a
directory that was there before gets its own name when it is whole. Safe in several threads.
"""

import contextlib
import ctypes
import errno
import functools
import os
import re
from collections.abc import Callable, Iterator
from typing import Final

import blake3

_NO_REPLACE: Final = 1
_NO_SUCH_RENAME: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EACCES})
# A probe of the target's spelling has a capital letter with an accent, which may be listed small or in two parts.
_TEMPORARY: Final = re.compile(rb"\.syncova-([0-9a-f]{16})(?:-[0-9a-f]{8})?(-\xc3[\x89\xa9]|-[Ee]\xcc\x81)?\.part")


def new_token() -> bytes:
    """Return what makes the temporary names of one restore unlike those of any other.

    A backup may hold leavings of an older restore, and is restored with them.
    """
    return os.urandom(4).hex().encode()


def temporary_name(name: bytes, token: bytes) -> bytes:
    """Return the name under which the object `name` is made; it is as long for a long name as for a short one."""
    return b".syncova-%b-%b.part" % (_hash(name), token)


def probe_name() -> str:
    """Return a temporary name that the file system may take for others: see `collisions`."""
    return f".syncova-{os.urandom(8).hex()}-\N{LATIN CAPITAL LETTER E WITH ACUTE}.part"


def is_temporary(name: bytes) -> bool:
    """Return whether a restore may have given this name to an object it was making."""
    return _TEMPORARY.fullmatch(name) is not None


def is_temporary_of(temporary: bytes, names: frozenset[bytes]) -> bool:
    """Return whether the object under a temporary name was to get one of `names`."""
    match = _TEMPORARY.fullmatch(temporary)
    return match is not None and (match[2] is not None or match[1] in {_hash(name) for name in names})


@contextlib.contextmanager
def temporary_for(directory: int, name: bytes) -> Iterator[bytes]:
    """Give a temporary name for `name`; nothing is left there when what is done with it fails."""
    temporary = temporary_name(name, new_token())
    try:
        yield temporary
    except BaseException:
        discard(directory, temporary)
        raise


def discard(directory: int, temporary: bytes) -> None:
    """Remove an object that will not be finished, or an empty directory."""
    try:
        os.unlink(temporary, dir_fd=directory)
    except IsADirectoryError:
        with contextlib.suppress(OSError):
            os.rmdir(temporary, dir_fd=directory)
    except OSError:
        pass  # the next restore finds it by its name


def publish(directory: int, temporary: bytes, name: bytes) -> None:
    """Give an object a name that was free. Raises FileExistsError if it is not any more, and OSError."""
    try:
        rename_to_free(directory, temporary, name)
    except OSError as error:
        if error.errno not in _NO_SUCH_RENAME:
            raise
        _link_to_free(directory, temporary, name)


def rename_to_free(directory: int, temporary: bytes, name: bytes) -> None:
    """Rename in one step if the new name is free. Raises OSError; EINVAL or ENOSYS where there is no such call."""
    call = _renameat2()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(directory, temporary, directory, name, _NO_REPLACE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call


def _link_to_free(directory: int, temporary: bytes, name: bytes) -> None:
    try:
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without hard links, and for directories, there is a moment between the look and the renaming.
        with contextlib.suppress(FileNotFoundError):
            os.stat(name, dir_fd=directory, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    os.unlink(temporary, dir_fd=directory)


def _hash(name: bytes) -> bytes:
    return blake3.blake3(name).hexdigest(8).encode()
