"""Which names of a backup are one file: members of one hard-link group that were the same when they were read.

Owns that rule for everything that joins them. A number of an inode is given away again as soon as its file is gone,
perhaps while the walk goes on: two files that never met may then bear one group. Pure.
"""

import hashlib

from repositories.engine.manifest.entries import Entry, EntryType, encode


def file_key(entry: Entry) -> bytes | None:
    """Return what all names of one file share and no other file has; None for what has one name.

    Members that differ in anything but their names are files of their own: each entry holds all that it was.
    """
    if entry.link_group is None or entry.type == EntryType.DIRECTORY:
        return None
    content = (entry.type, entry.size, entry.extents, entry.stream, entry.target, entry.device)
    told = (entry.mode, entry.uid, entry.gid, entry.mtime, entry.xattrs)
    return hashlib.blake2b(encode((entry.link_group, content, told)), digest_size=16).digest()
