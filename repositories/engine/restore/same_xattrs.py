"""Whether an object that is there has the extended attributes and ACLs that the backup knows.

Owns which of them count: those that we could set. The kernel and security modules put labels of their own on
everything, and an ordinary user sees and sets less than root. Changes nothing.
"""

import errno
import os
from typing import Final

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry
from repositories.engine.metadata.extended import ACL_PREFIX, read_xattrs
from repositories.engine.restore.chunks import AnyChunks, xattrs_of

_OWNERS: Final = (b"user.", ACL_PREFIX)
_ROOTS: Final = (b"trusted.", b"security.capability")
_SURE_TO_FIT: Final = 1024


def same_xattrs(target: int | bytes, status: os.stat_result, entry: Entry, source: AnyChunks) -> bool:
    """Return whether no attribute that counts is more, other or less than in the backup.

    `target` as for `read_xattrs`. One that is missing counts if the file system would take it; else it is reported as
    lacking. What the backup cannot give back is not the same.
    """
    there = dict(read_xattrs(target)[0])
    try:
        wanted = xattrs_of(source, entry.xattrs)
    except (IntegrityError, ObjectMissingError):
        return False
    for name, value in wanted:
        have = there.pop(name, None)
        if have != value and _counts(name, status) and (have is not None or _would_take(target, name, value)):
            return False
    return not any(_counts(name, status) for name in there)


def foreign_xattrs(target: int | bytes, status: os.stat_result, entry: Entry) -> list[bytes]:
    """Return the names of attributes that count and that the backup does not know."""
    known = {xattr.name for xattr in entry.xattrs or ()}
    return [name for name, _ in read_xattrs(target)[0] if name not in known and _counts(name, status)]


def _counts(name: bytes, status: os.stat_result) -> bool:
    user = os.geteuid()
    return (name.startswith(_OWNERS) and user in (0, status.st_uid)) or (user == 0 and name.startswith(_ROOTS))


def _would_take(target: int | bytes, name: bytes, value: bytes) -> bool:
    if len(value) > _SURE_TO_FIT:
        return False
    try:
        os.getxattr(target, name, follow_symlinks=isinstance(target, int))
    except OSError as error:
        return error.errno == errno.ENODATA
    return True
