"""Extended attributes (ACLs and file capabilities among them) of an object that is named by a descriptor.

Owns the way to objects that cannot be opened (links, FIFOs, devices): the name below the directory's entry in
/proc/self/fd, which resolves through the descriptor, so that no path can be swapped.
"""

import errno
import os
import sys
from typing import Final

ACL_PREFIX: Final = b"system.posix_acl_"
UNSUPPORTED: Final = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})
_DESCRIPTORS: Final = b"/proc/self/fd"
_AVAILABLE: Final = sys.platform == "linux"


def object_in(directory: int, name: bytes) -> bytes:
    """Return a path to `name` that goes through the directory's descriptor."""
    return b"/proc/self/fd/%d/%b" % (directory, name)


def pinned_path(descriptor: int) -> bytes:
    """Return a path that leads to the object of a descriptor (made with O_PATH, for a link too) and to no other."""
    return b"%b/%d" % (_DESCRIPTORS, descriptor)


def _follows(target: int | bytes) -> bool:
    """Tell whether calls must follow: a descriptor's own path is a link of the system's to the object."""
    return isinstance(target, int) or target.rpartition(b"/")[0] == _DESCRIPTORS


def read_xattrs(target: int | bytes) -> tuple[list[tuple[bytes, bytes]], OSError | None]:
    """Return the attributes sorted by name, and the first failure (the others are still returned).

    `target` is a descriptor, or a path of `object_in` or `pinned_path`. A file system without attributes has none: no
    failure.
    """
    if not _AVAILABLE:
        return [], None
    follow = _follows(target)
    try:
        names = os.listxattr(target, follow_symlinks=follow)
    except OSError as error:
        return [], None if error.errno in UNSUPPORTED else error
    found: list[tuple[bytes, bytes]] = []
    failure: OSError | None = None
    for name in names:
        try:
            found.append((os.fsencode(name), os.getxattr(target, name, follow_symlinks=follow)))
        except OSError as error:
            # ENODATA: it was removed since the listing.
            if error.errno != errno.ENODATA and failure is None:
                failure = error
    found.sort()
    return found, failure


def write_xattr(target: int | bytes, name: bytes, value: bytes) -> None:
    """Set one attribute. Raises OSError; ENOTSUP where the platform has none."""
    if not _AVAILABLE:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    os.setxattr(target, name, value, follow_symlinks=_follows(target))


def remove_xattr(target: int | bytes, name: bytes) -> None:
    """Remove one attribute; it may be gone already. Raises OSError."""
    try:
        os.removexattr(target, name, follow_symlinks=_follows(target))
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
