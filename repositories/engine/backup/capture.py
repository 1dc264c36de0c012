"""Turns what the file system says about an object into an entry.

Owns the fields of new entries, the young flag, and attributes (long values go to chunks). Content comes from
reading; nothing here reads any.
"""

import os
import stat

import msgspec

from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.entries import (
    FLAG_CHANGED,
    FLAG_LACKING,
    FLAG_YOUNG,
    INLINE_XATTR,
    INLINE_XATTRS_TOTAL,
    Entry,
    EntryType,
    Extent,
    StreamRef,
    Xattr,
    pack_time,
)
from repositories.engine.manifest.streams import put_value
from repositories.engine.source.status import Status

YOUNG_NS = 2_000_000_000
"""Coarser than any file system's clock: what was written within it may be written again with the same times."""


class Content(msgspec.Struct, frozen=True):
    """What was read of a file: `status` belongs to the bytes, `size` counts them, `changed` = it never held still.

    `lacking` = some attributes could not be read.
    """

    status: Status
    size: int
    extents: tuple[Extent, ...] | None
    stream: StreamRef | None
    xattrs: tuple[Xattr, ...] | None
    started_ns: int
    changed: bool
    lacking: bool = False


def is_young(status: Status, started_ns: int) -> bool:
    """Return whether a later change could hide behind the same times; the future counts as well."""
    return max(status.st_mtime_ns, status.st_ctime_ns) >= started_ns - YOUNG_NS


def store_xattrs(sink: ChunkSink, found: list[tuple[bytes, bytes]]) -> tuple[Xattr, ...] | None:
    """Return the attributes as an entry holds them; None for none."""
    if not found:
        return None
    room = INLINE_XATTRS_TOTAL
    stored = []
    for name, value in found:
        if len(value) <= INLINE_XATTR and len(value) <= room:
            room -= len(value)
            stored.append(Xattr(name, value))
        else:
            stored.append(Xattr(name, None, put_value(sink, value)))
    return tuple(stored)


def file_entry(name: bytes, content: Content, link_group: tuple[int, int] | None) -> Entry:
    """Return the entry of a regular file."""
    status = content.status
    flags = FLAG_YOUNG if is_young(status, content.started_ns) else 0
    if content.changed:
        flags |= FLAG_YOUNG | FLAG_CHANGED
    if content.lacking:
        flags |= FLAG_LACKING
    return Entry(
        type=EntryType.FILE,
        name=name,
        mode=status.st_mode,
        uid=status.st_uid,
        gid=status.st_gid,
        size=content.size,
        mtime=pack_time(status.st_mtime_ns),
        ctime=pack_time(status.st_ctime_ns),
        inode=status.st_ino,
        flags=flags,
        extents=content.extents,
        stream=content.stream,
        xattrs=content.xattrs,
        link_group=link_group,
    )


class Other(msgspec.Struct, frozen=True):
    """An object without content: what it is, when it was looked at, and whether some attributes could not be read.

    `flags` are further ones of its entry.
    """

    kind: EntryType
    status: Status
    started_ns: int
    xattrs: tuple[Xattr, ...] | None
    target: bytes | None = None
    link_group: tuple[int, int] | None = None
    lacking: bool = False
    flags: int = 0


def other_entry(name: bytes, other: Other) -> Entry:
    """Return the entry of a directory, link, FIFO or device."""
    status = other.status
    flags = other.flags | (FLAG_YOUNG if is_young(status, other.started_ns) else 0)
    if other.lacking:
        flags |= FLAG_LACKING
    device = None
    if other.kind in (EntryType.CHARACTER_DEVICE, EntryType.BLOCK_DEVICE):
        device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    return Entry(
        type=other.kind,
        name=name,
        mode=status.st_mode,
        uid=status.st_uid,
        gid=status.st_gid,
        size=0 if stat.S_ISDIR(status.st_mode) else status.st_size,
        mtime=pack_time(status.st_mtime_ns),
        ctime=pack_time(status.st_ctime_ns),
        inode=status.st_ino,
        flags=flags,
        xattrs=other.xattrs,
        target=other.target,
        link_group=other.link_group,
        device=device,
    )
