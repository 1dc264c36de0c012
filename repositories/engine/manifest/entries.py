"""One entry of a manifest: everything kept about one file system object, and its canonical bytes.

Owns field order (only ever appended) and the limits of an entry. Holds nothing volatile: no device number of the
file system, no access time. Times outside 64 bits are kept exactly, as 16 bytes.
"""

import enum
import stat
from bisect import bisect_right
from typing import Annotated, Final

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import UNDECODABLE, Hash
from repositories.engine.limits import MAX_SIZE

INLINE_EXTENTS: Final = 32
INLINE_XATTR: Final = 4096
INLINE_XATTRS_TOTAL: Final = 16 * 1024
NAME_LIMIT: Final = 1024
PATH_LIMIT: Final = 256 * 1024
XATTR_NAME_LIMIT: Final = 1024

Level = Annotated[int, msgspec.Meta(ge=0, le=64)]
Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE)]
Length = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
_Mode = Annotated[int, msgspec.Meta(ge=0, le=0o177777)]
_Owner = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
_DeviceNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_XattrName = Annotated[bytes, msgspec.Meta(min_length=1, max_length=XATTR_NAME_LIMIT)]
_LongTime = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]

Time = int | _LongTime
Extent = Hash | int
"""Part of a file in order: a chunk id (its length is the chunk's), or the length of a hole."""


class EntryType(enum.IntEnum):
    """What an entry is; sockets are never recorded."""

    FILE = 1
    DIRECTORY = 2
    LINK = 3
    FIFO = 4
    CHARACTER_DEVICE = 5
    BLOCK_DEVICE = 6


_TYPES: Final = {
    stat.S_IFREG: EntryType.FILE,
    stat.S_IFDIR: EntryType.DIRECTORY,
    stat.S_IFLNK: EntryType.LINK,
    stat.S_IFIFO: EntryType.FIFO,
    stat.S_IFCHR: EntryType.CHARACTER_DEVICE,
    stat.S_IFBLK: EntryType.BLOCK_DEVICE,
}

FLAG_YOUNG: Final = 1
"""Its timestamps were too near to the reading to be trusted: the next backup reads it again."""
FLAG_CHANGED: Final = 2
"""The content was still changing when it was read for the last time."""
FLAG_LACKING: Final = 4
"""Some of its extended attributes could not be read: the next backup tries again, and warns again."""
FLAG_BEGUN: Final = 8
"""In checkpoints only: the content is what had been read of the file when the checkpoint was put, always a stream."""
FLAG_MOUNT_POINT: Final = 16
"""Of directories: a file system that held something was mounted here, and is in the backup."""
FLAG_UNMOUNTED: Final = 32
"""Of directories: what was mounted here in an earlier backup is not in this one, and nobody said that this is right."""


class StreamRef(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The top of a stream or of the tree of pages: chunk id, height (0 = a leaf), items and content bytes below."""

    id: Hash
    level: Level
    count: Count
    length: Length


class Xattr(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An extended attribute; a long value lies in chunks of its own."""

    name: _XattrName
    value: bytes | None
    chunks: tuple[Hash, ...] | None = None


class Entry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One object of the source. `extents` or `stream` for files, `target` for links, `device` for devices."""

    type: int
    name: bytes
    mode: _Mode
    uid: _Owner
    gid: _Owner
    size: _Size
    mtime: Time
    ctime: Time
    inode: int
    flags: int = 0
    extents: tuple[Extent, ...] | None = None
    stream: StreamRef | None = None
    xattrs: tuple[Xattr, ...] | None = None
    target: bytes | None = None
    link_group: tuple[int, int] | None = None
    device: tuple[_DeviceNumber, _DeviceNumber] | None = None

    @property
    def mtime_ns(self) -> int:
        """Modification time in ns since the epoch."""
        return unpack_time(self.mtime)

    @property
    def is_directory(self) -> bool:
        """Whether entries may lie below it."""
        return self.type == EntryType.DIRECTORY


class Extended(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One record of a content stream: a chunk of `length` bytes, or a hole when `id` is nil."""

    length: Annotated[int, msgspec.Meta(gt=0, le=MAX_SIZE)]
    id: Hash | None


encode: Final = msgspec.msgpack.Encoder().encode
_LAST_OF_NO_NAMES: Final = b".."
_NO_NAMES: Final = frozenset({b"", b".", _LAST_OF_NO_NAMES})


class _Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    type: msgspec.Raw
    name: bytes


_name_decoder: Final = msgspec.msgpack.Decoder(_Named)
_entry_decoder: Final = msgspec.msgpack.Decoder(Entry)


def decode_entry(raw: bytes | memoryview | msgspec.Raw) -> Entry:
    """Return the entry; raises IntegrityError when it is not one or could not have been written."""
    try:
        entry = _entry_decoder.decode(raw)
    except UNDECODABLE as error:
        raise IntegrityError(f"a manifest has {_described(raw)} that cannot be decoded: {error}") from error
    check_name(entry.name)
    check_values(entry)
    return entry


def check_values(entry: Entry) -> None:
    """Refuse an entry that its encoding allows and no system could ever have made; its name is not looked at."""
    if entry.target is not None and b"\0" in entry.target:
        raise IntegrityError(f"a manifest has a link {entry.name[:80]!r} with an impossible target")
    if entry.xattrs is not None:
        _check_xattrs(entry)


def _described(raw: bytes | memoryview | msgspec.Raw) -> str:
    """Name an entry that could not have been written, as far as it tells its name."""
    try:
        return f"an entry {_name_decoder.decode(raw).name[:80]!r}"
    except UNDECODABLE:
        return "an entry"


def _check_xattrs(entry: Entry) -> None:
    for xattr in entry.xattrs or ():
        if b"\0" in xattr.name or (xattr.value is None) == (xattr.chunks is None):
            raise IntegrityError(f"a manifest has an entry {entry.name[:80]!r} with an impossible attribute")


def check_name(name: bytes) -> None:
    """Refuse what cannot be one component of a path (engine.md, 1.8)."""
    if not name or len(name) > NAME_LIMIT or b"/" in name or b"\0" in name or name in (b".", b".."):
        raise IntegrityError(f"a manifest names an entry {name[:80]!r}, which cannot be a file name")


def check_names(names: list[bytes]) -> None:
    """Refuse what `check_name` refuses of any of these, which rise strictly; much cheaper than asking for each."""
    joined = b"".join(names)
    is_wrong = b"/" in joined or b"\0" in joined
    if names[0] <= _LAST_OF_NO_NAMES:
        # A set of a million names is made by hashing each.
        is_wrong |= not _NO_NAMES.isdisjoint(names[: bisect_right(names, _LAST_OF_NO_NAMES)])
    if is_wrong or (len(joined) > NAME_LIMIT and max(map(len, names)) > NAME_LIMIT):
        for name in names:
            check_name(name)


def entry_type(mode: int) -> EntryType | None:
    """Return the type for a `st_mode`, or None for sockets and what is unknown."""
    return _TYPES.get(stat.S_IFMT(mode))


def pack_time(ns: int) -> Time:
    """Return the time as it is stored: an integer where 64 bits hold it, else 16 bytes, big-endian."""
    return ns if -(2**63) <= ns < 2**64 else ns.to_bytes(16, "big", signed=True)


def unpack_time(value: Time) -> int:
    """Return ns since the epoch."""
    return value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
