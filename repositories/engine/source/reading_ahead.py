"""Contents of small files that a process reads ahead of a backup to which nothing of them is known.

Owns the smooth case alone: a file of one name that is the same before, while and after it is read. Any other is left to
the backup, which reads it for itself and tells what is wrong with it.
"""

import os
import socket
import stat
from mmap import mmap

from repositories.engine.metadata.extended import read_xattrs
from repositories.engine.source.ahead_messages import (
    NO_SLOT,
    SLOT_BYTES,
    SLOTS,
    TAG_BYTES,
    ContentAhead,
    slots_given_back,
)
from repositories.engine.source.files import may_have_holes, open_regular
from repositories.engine.source.status import Status


class ReadingAhead:
    """Reads files of up to `limit` bytes, none with 0, into one slot after the other.

    `process` tells this process from others of the same backup.
    """

    def __init__(self, slots: mmap, limit: int, channel: socket.socket, process: int) -> None:
        self._memory = memoryview(slots)
        self._limit = min(limit, SLOT_BYTES - TAG_BYTES)
        self._process = process
        self._count = 0
        self._channel = channel
        self._free = list(range(SLOTS))
        self._slot = NO_SLOT
        self._used = 0

    def wants(self, status: os.stat_result) -> bool:
        """Return whether a file is one to read."""
        return (
            0 < status.st_size <= self._limit
            and stat.S_ISREG(status.st_mode)
            and status.st_nlink == 1
            and not may_have_holes(status)
        )

    def fits(self, status: os.stat_result) -> bool:
        """Return whether the slot at hand has room for a file; else it is handed over before that file is read."""
        return self._used + TAG_BYTES + status.st_size <= SLOT_BYTES

    def hand_over(self) -> int:
        """Return the slot at hand; what is read next goes into another one."""
        slot, self._slot, self._used = self._slot, NO_SLOT, 0
        return slot

    def read(self, directory: int, look: tuple[int, bytes, os.stat_result]) -> ContentAhead | None:
        """Read a file that fits: number, name and status of its look. None when it is not a plain matter.

        Waits for a slot. Raises OSError when nobody will give one back.
        """
        number, name, status = look
        if self._slot == NO_SLOT:
            if not self._free:
                self._free += slots_given_back(self._channel)
            self._slot = self._free.pop()
        begin = self._used + TAG_BYTES
        end = begin + status.st_size
        place = self._slot * SLOT_BYTES
        xattrs = _read(directory, name, status, self._memory[place + begin : place + end])
        if xattrs is None:
            return None
        self._used = end
        self._count += 1
        tag = self._process.to_bytes(8) + self._count.to_bytes(8)
        self._memory[place + begin - TAG_BYTES : place + begin] = tag
        return ContentAhead(number, begin, end, tag, xattrs)


def _read(directory: int, name: bytes, status: os.stat_result, room: memoryview) -> list[tuple[bytes, bytes]] | None:
    """Fill `room`; return the attributes, None when anything is not as it was."""
    try:
        descriptor, before = open_regular(name, directory)
        try:
            if not _same(status, before) or not _fill(descriptor, room):
                return None
            xattrs, failure = read_xattrs(descriptor)
            return xattrs if failure is None and _same(before, os.fstat(descriptor)) else None
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _fill(descriptor: int, room: memoryview) -> bool:
    filled = 0
    while filled < len(room):
        count = os.readv(descriptor, [room[filled:]])
        if not count:
            return False
        filled += count
    return True


def _same(one: Status, other: Status) -> bool:
    return (
        one.st_ctime_ns == other.st_ctime_ns
        and one.st_mtime_ns == other.st_mtime_ns
        and one.st_size == other.st_size
        and one.st_ino == other.st_ino
        and one.st_dev == other.st_dev
        and one.st_mode == other.st_mode
    )
