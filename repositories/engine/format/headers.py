"""Fixed-width clear headers: of sealed objects, of their parts, and the footer of packs.

Owns their layout (all numbers big-endian) and refuses what version 1 does not define. No keys, no I/O.
"""

import struct

import msgspec

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.kinds import ObjectKind, PartKind

OBJECT_MAGIC = b"SYNCOVA1"
PART_MAGIC = b"\xc5PT1"
FOOTER_MAGIC = b"SYNCOVAF"
VERSION = 1
KEY_SOURCE_DERIVED = 1
SALT_LENGTH = 32
NONCE_LENGTH = 12
TAG_LENGTH = 16

_OBJECT = struct.Struct(">8sBBBBII16s32s4s")
_PART = struct.Struct(">4sBBHI12s")
_FOOTER = struct.Struct(">8sQIIQ")
_PART_KINDS = frozenset(int(kind) for kind in PartKind)
_BINDING = struct.Struct(">IBB")

OBJECT_HEADER_LENGTH = _OBJECT.size
PART_HEADER_LENGTH = _PART.size
FOOTER_LENGTH = _FOOTER.size


class ObjectHeader(msgspec.Struct, frozen=True):
    """The clear header of a sealed object: 72 bytes."""

    kind: ObjectKind
    object_id: bytes
    salt: bytes
    epoch: int
    domain: int = 0
    key_source: int = KEY_SOURCE_DERIVED
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """Return the 72 header bytes."""
        numbers = (self.kind, self.version, self.key_source, 0, self.domain, self.epoch)
        return _OBJECT.pack(OBJECT_MAGIC, *numbers, self.object_id, self.salt, bytes(4))


def parse_object_header(data: bytes | memoryview) -> ObjectHeader:
    """Parse the first 72 bytes of a sealed object. Raises IntegrityError, or UnsupportedFormatError for newer ones."""
    if len(data) < OBJECT_HEADER_LENGTH:
        raise IntegrityError("an object is shorter than its header", hint="run check")
    fields = _OBJECT.unpack(data[:OBJECT_HEADER_LENGTH])
    magic, kind, version, key_source, flags, domain, epoch, object_id, salt, reserved = fields
    if magic != OBJECT_MAGIC:
        raise IntegrityError("an object does not begin as a Syncova object does", hint="run check")
    if version != VERSION or key_source != KEY_SOURCE_DERIVED or flags or reserved != bytes(4):
        raise UnsupportedFormatError(
            f"an object has version {version}, key source {key_source}, flags {flags}: not known here",
            hint="use a newer Syncova, or run check if none is newer",
        )
    try:
        known = ObjectKind(kind)
    except ValueError as error:
        raise UnsupportedFormatError(f"object kind {kind} is not known here", hint="use a newer Syncova") from error
    return ObjectHeader(known, object_id, salt, epoch, domain, key_source, version)


class PartHeader(msgspec.Struct, frozen=True):
    """The clear header before each sealed part: 24 bytes. `length` counts ciphertext and tag."""

    kind: PartKind
    length: int
    nonce: bytes
    flags: int = 0

    def to_bytes(self) -> bytes:
        """Return the 24 header bytes."""
        return _PART.pack(PART_MAGIC, self.kind, self.flags, 0, self.length, self.nonce)


def parse_part_header(data: bytes | memoryview, offset: int = 0) -> PartHeader:
    """Parse the part header at `offset`. Raises IntegrityError."""
    if len(data) - offset < PART_HEADER_LENGTH:
        raise IntegrityError("an object ends inside a part header", hint="run check")
    magic, kind, flags, reserved, length, nonce = _PART.unpack_from(data, offset)
    if magic != PART_MAGIC or reserved or flags or length < TAG_LENGTH or kind not in _PART_KINDS:
        raise IntegrityError("a part header is damaged", hint="run check")
    return PartHeader(PartKind(kind), length, nonce, flags)


def associated_data(header: bytes, number: int, kind: PartKind, flags: int = 0, extra: bytes = b"") -> bytes:
    """Return what a part authenticates besides its content: whole object header, part number, kind, flags, extra."""
    return header + _BINDING.pack(number, kind, flags) + extra


class PackFooter(msgspec.Struct, frozen=True):
    """The last 32 bytes of a pack: where its sealed directory lies. Not trusted: the directory binds it."""

    directory_offset: int
    directory_length: int
    sections: int
    length: int

    def to_bytes(self) -> bytes:
        """Return the 32 footer bytes."""
        return _FOOTER.pack(FOOTER_MAGIC, self.directory_offset, self.directory_length, self.sections, self.length)


def parse_pack_footer(data: bytes | memoryview) -> PackFooter:
    """Parse exactly 32 footer bytes. Raises IntegrityError."""
    if len(data) != FOOTER_LENGTH:
        raise IntegrityError("a pack is shorter than its footer", hint="run check")
    magic, *numbers = _FOOTER.unpack(data)
    if magic != FOOTER_MAGIC:
        raise IntegrityError("a pack does not end with a footer", hint="run check")
    return PackFooter(*numbers)
