"""Large files that were cut in the middle: what a checkpoint keeps of one, and when the next try may go on from there.

Owns the rule: the file is the same in size, times and inode, was not young, and every chunk is present. Its first part
then holds what it held, as a whole file would.
"""

import os
from collections.abc import Callable, Iterator

import msgspec

from repositories.engine.backup.capture import is_young
from repositories.engine.backup.extents import ExtentCollector
from repositories.engine.limits import MIB
from repositories.engine.manifest.entries import FLAG_BEGUN, Entry, EntryType, StreamRef, encode, pack_time

WORTH_KEEPING = 64 * MIB
"""Reading less than this again costs less than keeping it."""


class Begun(msgspec.Struct, frozen=True):
    """What an earlier try had read of a file: its entry in the checkpoint, its content as (length, chunk or None)."""

    entry: Entry
    content: Callable[[], Iterator[tuple[int, bytes | None]]]

    def is_of(self, status: os.stat_result) -> bool:
        """Return whether an open file is still the one that was begun."""
        entry = self.entry
        return (
            entry.inode == status.st_ino
            and entry.size == status.st_size
            and entry.mtime == pack_time(status.st_mtime_ns)
            and entry.ctime == pack_time(status.st_ctime_ns)
            and entry.stream is not None
            and entry.stream.length <= status.st_size
        )


class InHand(msgspec.Struct, frozen=True):
    """The file that is being read: what it was when it was opened, and what has been read of it."""

    name: bytes
    status: os.stat_result
    started_ns: int
    extents: ExtentCollector

    def entry(self) -> tuple[bytes, bytes] | None:
        """Return name and encoded entry for a checkpoint, putting the content's pages; None when it is not worth it."""
        if self.extents.length < WORTH_KEEPING or is_young(self.status, self.started_ns):
            return None
        stream = self.extents.snapshot()
        return None if stream is None else (self.name, encode(_entry(self.name, self.status, stream)))


def _entry(name: bytes, status: os.stat_result, stream: StreamRef) -> Entry:
    return Entry(
        type=EntryType.FILE,
        name=name,
        mode=status.st_mode,
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size,
        mtime=pack_time(status.st_mtime_ns),
        ctime=pack_time(status.st_ctime_ns),
        inode=status.st_ino,
        flags=FLAG_BEGUN,
        stream=stream,
    )
