"""The kernel's FUSE protocol, as far as the test file system speaks it: opcodes and how structures are packed.

Owns layouts only. Little endian, as on the machines that we test on.
"""

import struct
from enum import IntEnum
from typing import Final


class Op(IntEnum):
    """What the kernel asks for."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    READLINK = 5
    SYMLINK = 6
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    LINK = 13
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    SETXATTR = 21
    GETXATTR = 22
    LISTXATTR = 23
    REMOVEXATTR = 24
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    CREATE = 35
    INTERRUPT = 36
    BATCH_FORGET = 42
    RENAME2 = 45


SILENT: Final = frozenset({Op.FORGET, Op.BATCH_FORGET, Op.INTERRUPT})
"""Requests that get no answer."""

MODE, UID, GID, SIZE, MTIME, MTIME_NOW = 1, 2, 4, 8, 32, 256
"""Which fields of a SETATTR count."""

DIRECT_IO = 1
"""On an open file: each read goes to us, whatever the size said."""

_BIG_WRITES = 1 << 5
MAX_WRITE = 128 * 1024
BUFFER = 1024 * 1024

IN_HEADER = struct.Struct("<IIQQIIII")
_OUT_HEADER = struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<QQQqqqIIIIIIIIII")
_ENTRY = struct.Struct("<QQQQII")
_DIRENT = struct.Struct("<QQII")
SETATTR = struct.Struct("<II3QqqqIIIIIIII")
TRANSFER = struct.Struct("<QQIIQII")
OPEN = struct.Struct("<QII")
PAIR = struct.Struct("<II")
FOUR = struct.Struct("<IIII")


def answer(unique: int, error: int, body: bytes = b"") -> bytes:
    """Return an answer; `error` is an errno or 0."""
    return _OUT_HEADER.pack(_OUT_HEADER.size + len(body), -error, unique) + body


def init() -> bytes:
    """Return the body of the answer to INIT."""
    return struct.pack("<IIIIHHIIHHI28x", 7, 31, 128 * 1024, _BIG_WRITES, 16, 12, MAX_WRITE, 1, 0, 0, 0)


def statfs() -> bytes:
    """Return the body of the answer to STATFS: much room."""
    return struct.pack("<5Q4I24x", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0)


def attributes(
    inode: int, size: int, times: tuple[int, int], mode: int, links: int, owner: tuple[int, int], device: int
) -> bytes:
    """Return what `stat` tells; `times` are mtime and ctime in nanoseconds."""
    (mtime, mtime_ns), (ctime, ctime_ns) = (divmod(each, 10**9) for each in times)
    return _ATTRIBUTES.pack(
        inode, size, (size + 511) // 512, mtime, mtime, ctime, mtime_ns, mtime_ns, ctime_ns,
        mode, links, *owner, device, 4096, 0,
    )  # fmt: skip


def entry(node: int, attributes_: bytes) -> bytes:
    """Return what a name leads to; nothing of it is cached."""
    return _ENTRY.pack(node, 0, 0, 0, 0, 0) + attributes_


def attr_out(attributes_: bytes) -> bytes:
    """Return the body of the answer to GETATTR and SETATTR; nothing of it is cached."""
    return bytes(16) + attributes_


def dirent(inode: int, offset: int, kind: int, name: bytes) -> bytes:
    """Return one record of a listing; the next one is asked for by `offset`."""
    record = _DIRENT.pack(inode, offset, len(name), kind) + name
    return record + bytes(-len(record) % 8)
