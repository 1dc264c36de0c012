"""Why the target refuses an object, where the system's own words do not say it.

Owns the look at the flags that make objects immutable. Changes nothing.
"""

import errno
import fcntl
import os
import stat
import struct
from typing import Final

_GET_FLAGS: Final = 0x80086601 if struct.calcsize("l") == 8 else 0x80046601
_IMMUTABLE: Final = 0x10
_APPEND_ONLY: Final = 0x20
_LOOK: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def explained(error: OSError, directory: int, name: bytes) -> OSError:
    """Return `error` with the reason, if a flag of the object, or of the directory it lies in, is it."""
    if error.errno != errno.EPERM:
        return error
    for what, words in (_flag_of(directory, name), "it"), (_flag_of(directory, b"."), "its directory"):
        if what:
            return OSError(errno.EPERM, f"{words} is {what} (chattr -{'i' if what == 'immutable' else 'a'} lifts that)")
    return error


def _flag_of(directory: int, name: bytes) -> str:
    try:
        kind = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            return ""
        descriptor = os.open(name, _LOOK, dir_fd=directory)
    except OSError:
        return ""
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(struct.calcsize("l"))))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    if flags & _IMMUTABLE:
        return "immutable"
    return "append-only" if flags & _APPEND_ONLY else ""
