"""The envelope of the two clear kinds, config and slots: magic, kind, version, length, payload, checksum.

Owns telling a damaged clear object from a whole one, so that its second copy is read instead. The checksum is no
protection against forgers: config is bound as associated data of the keyring, slots by their seal.
"""

import struct

import blake3

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.headers import OBJECT_MAGIC, VERSION
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.limits import MAX_CLEAR_OBJECT

_CLEAR = struct.Struct(">8sBBHI")
_CHECKSUM_LENGTH = 32


def wrap_clear(kind: ObjectKind, payload: bytes) -> bytes:
    """Return the object bytes of a clear payload."""
    body = _CLEAR.pack(OBJECT_MAGIC, kind, VERSION, 0, len(payload)) + payload
    return body + blake3.blake3(body).digest()


def is_cut_clear(data: bytes) -> bool:
    """Tell whether these bytes are the beginning of a clear object, and not all of it."""
    if len(data) < _CLEAR.size + _CHECKSUM_LENGTH:
        return True
    length: int = _CLEAR.unpack_from(data)[-1]
    return len(data) < _CLEAR.size + length + _CHECKSUM_LENGTH


def unwrap_clear(kind: ObjectKind, data: bytes) -> bytes:
    """Return the payload. Raises IntegrityError when damaged, UnsupportedFormatError when newer."""
    if not _CLEAR.size + _CHECKSUM_LENGTH <= len(data) <= MAX_CLEAR_OBJECT:
        raise IntegrityError(f"a {kind.name.lower()} object has an impossible length", hint="run check")
    if blake3.blake3(data[:-_CHECKSUM_LENGTH]).digest() != data[-_CHECKSUM_LENGTH:]:
        raise IntegrityError(f"a {kind.name.lower()} object is damaged", hint="run check")
    magic, stored_kind, version, reserved, length = _CLEAR.unpack_from(data)
    if magic != OBJECT_MAGIC or stored_kind != kind or length != len(data) - _CLEAR.size - _CHECKSUM_LENGTH:
        raise IntegrityError(f"an object in the place of a {kind.name.lower()} is none", hint="run check")
    if version != VERSION or reserved:
        raise UnsupportedFormatError(
            f"a {kind.name.lower()} object has version {version}, not known here", hint="use a newer Syncova"
        )
    return data[_CLEAR.size : -_CHECKSUM_LENGTH]
