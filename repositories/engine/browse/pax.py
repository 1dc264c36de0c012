"""The headers of a POSIX tar archive: a ustar block, preceded by extended (PAX) records for what it cannot hold.

Owns the bytes of headers. Python's own writer knows neither attribute names of any bytes nor times in nanoseconds, so
headers are made here. Names are bytes: any name that is no UTF-8 is told as binary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from repositories.engine.browse.acl_text import acl_text
from repositories.engine.errors import IntegrityError
from repositories.engine.limits import KIB

BLOCK: Final = 512
FILE, LINK, SYMLINK, CHARACTER_DEVICE, BLOCK_DEVICE, DIRECTORY, FIFO = b"0", b"1", b"2", b"3", b"4", b"5", b"6"
END: Final = bytes(2 * BLOCK)
_EXTENDED: Final = b"x"
_USTAR: Final = b"ustar\x0000" + bytes(64)
_NAME_FIELD: Final = 100
_OWED_LITTLE: Final = 64 * KIB
_OCTAL_8, _OCTAL_12 = 0o7777777, 0o77777777777
_ACLS: Final = {
    b"system.posix_acl_access": b"SCHILY.acl.access",
    b"system.posix_acl_default": b"SCHILY.acl.default",
}

Records = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of an archive. `size` is what follows in the archive; `records` are further extended records."""

    kind: bytes
    name: bytes
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    size: int = 0
    target: bytes = b""
    device: tuple[int, int] = (0, 0)
    xattrs: Records = ()
    records: Records = ()


def header(member: Member) -> bytes:
    """Return the blocks that stand before a member's content. Raises IntegrityError for values that no file has."""
    _require_possible(member)
    records = [*_overflow(member), *member.records, *_attributes(member.xattrs)]
    block = _ustar(member, member.name, member.kind, member.size)
    if not records:
        return block
    body = b"".join(_record(key, value) for key, value in records)
    before = _ustar(member, b"PaxHeaders/" + member.name.rpartition(b"/")[2], _EXTENDED, len(body))
    return before + body + padding(len(body)) + block


def unfinished(owed: int) -> bytes:
    """Return what ends an archive so that no reader takes it for a whole one; without an end mark alone many would.

    It is an extended header that announces more than comes. `owed` is what the last member still lacks, or, where an
    interrupt came at a write, as much or less by whole blocks: whatever is then read as content, a header is left.
    """
    nothing = Member(kind=_EXTENDED, name=b"unfinished", mode=0, uid=0, gid=0, mtime_ns=0)
    copies = owed // BLOCK + 2 if owed <= _OWED_LITTLE else 1
    return _ustar(nothing, b"unfinished", _EXTENDED, 4 * _OWED_LITTLE) * copies


def padding(length: int) -> bytes:
    """Return the zeros that fill the last block of `length` bytes."""
    return bytes(-length % BLOCK)


def _overflow(member: Member) -> Iterable[tuple[bytes, bytes]]:
    """Yield the records for what does not fit, or is not told exactly by, the ustar block."""
    names = ((b"path", member.name), (b"linkpath", member.target))
    long = [(key, name) for key, name in names if len(name) > _NAME_FIELD or not name.isascii()]
    if not all(_is_utf8(name) for _, name in long):
        yield b"hdrcharset", b"BINARY"
    yield from long
    if member.size > _OCTAL_12:
        yield b"size", b"%d" % member.size
    for key, number in (("uid", member.uid), ("gid", member.gid)):
        if number > _OCTAL_8:
            yield key.encode(), b"%d" % number
    if member.mtime_ns % 1_000_000_000 or not 0 <= member.mtime_ns // 1_000_000_000 <= _OCTAL_12:
        yield b"mtime", _decimal(member.mtime_ns)


def _attributes(xattrs: Records) -> Iterable[tuple[bytes, bytes]]:
    for name, value in xattrs:
        text = acl_text(value) if name in _ACLS else None
        if text is not None:
            yield _ACLS[name], text
        # A record's key ends at its first equals sign.
        yield b"SCHILY.xattr." + name.replace(b"%", b"%25").replace(b"=", b"%3D"), value


def _record(key: bytes, value: bytes) -> bytes:
    """Return `<length> <key>=<value>\\n`; the length counts its own digits."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    if rest + len(str(length)) != length:
        length += 1
    return b"%d %b=%b\n" % (length, key, value)


def _ustar(member: Member, name: bytes, kind: bytes, size: int) -> bytes:
    seconds = member.mtime_ns // 1_000_000_000
    numbers = (
        member.mode & 0o7777,
        member.uid if member.uid <= _OCTAL_8 else 0,
        member.gid if member.gid <= _OCTAL_8 else 0,
        size if size <= _OCTAL_12 else 0,
        min(max(seconds, 0), _OCTAL_12),
    )
    before = _text(name, _NAME_FIELD) + b"%07o\0%07o\0%07o\0%011o\0%011o\0" % numbers
    target = b"" if kind == _EXTENDED else member.target
    behind = kind + _text(target, _NAME_FIELD) + _USTAR + b"%07o\0%07o\0" % member.device
    # The checksum counts its own field as spaces; zeros count nothing.
    checksum = sum((before + behind).translate(None, b"\0")) + 8 * ord(" ")
    return (before + b"%06o\0 " % checksum + behind).ljust(BLOCK, b"\0")


def _text(name: bytes, width: int) -> bytes:
    return name[:width].ljust(width, b"\0")


def _decimal(ns: int) -> bytes:
    """Return nanoseconds as seconds with a fraction, exactly, also before 1970."""
    seconds, fraction = divmod(abs(ns), 1_000_000_000)
    sign = "-" if ns < 0 else ""
    return f"{sign}{seconds}.{fraction:09}".rstrip("0").rstrip(".").encode()


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _require_possible(member: Member) -> None:
    numbers = (member.uid, member.gid, member.mode)
    if not all(0 <= number < 2**32 for number in numbers) or not all(0 <= part <= _OCTAL_8 for part in member.device):
        raise IntegrityError("its owner, mode or device number is impossible")
    if b"\0" in member.target or (member.kind in (LINK, SYMLINK) and not member.target):
        raise IntegrityError("it is a link without a target")
