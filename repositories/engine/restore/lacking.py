"""What an object that is there already lacks of its entry's attributes, so that a second restore tells it, too.

Owns the comparison; it sets nothing. What we cannot see counts as lacking.
"""

import os
import stat

from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.metadata.apply import SPECIAL_BITS, AttributeClass, ReportAttribute, class_of_xattr
from repositories.engine.metadata.extended import read_xattrs


def report_lacking(path: bytes, status: os.stat_result, entry: Entry, report: ReportAttribute) -> None:
    """Report owner, special bits and extended attributes that the object at `path` (of `object_in`) does not have."""
    if (status.st_uid, status.st_gid) != (entry.uid, entry.gid):
        report(AttributeClass.OWNER, PermissionError("it has another owner"))
    if entry.type != EntryType.LINK and entry.mode & SPECIAL_BITS & ~stat.S_IMODE(status.st_mode):
        report(AttributeClass.SPECIAL_BITS, PermissionError("it has no such bits"))
    if not entry.xattrs:
        return
    found = {name for name, _ in read_xattrs(path)[0]}
    for xattr in entry.xattrs:
        if xattr.name not in found:
            report(class_of_xattr(xattr.name), PermissionError("it has no such attribute"))
