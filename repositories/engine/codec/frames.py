"""Frames: what lies inside each sealed part: header, chunk table (blocks), payload, padding.

Owns the inner layout. Codec, dictionary id and padding length lie inside the seal, since they would tell a padded
length from outside.
"""

import struct

import msgspec

from repositories.engine.codec.compression import Codec, compress, decompress
from repositories.engine.codec.padding import padding_for
from repositories.engine.errors import IntegrityError, UnsupportedFormatError

_FRAME = struct.Struct(">BBHIIII")
FRAME_LENGTH = _FRAME.size


class Frame(msgspec.Struct, frozen=True):
    """A decoded frame: the table bytes (empty outside blocks) and the decoded payload."""

    table: bytes
    payload: bytes


def encode_frame(payload: bytes | bytearray, level: int, *, table: bytes = b"", padding: bool = False) -> bytes:
    """Return the plaintext of a part. Compresses at `level` (0: not), raw when that is not smaller."""
    codec, stored = compress(payload, level)
    added = padding_for(FRAME_LENGTH + len(table) + len(stored)) if padding else 0
    header = _FRAME.pack(codec, 0, 0, 0, len(payload), added, len(table))
    return b"".join((header, table, stored, bytes(added)))


def decode_frame(plain: bytes, max_decoded: int) -> Frame:
    """Return the frame in `plain`. Raises IntegrityError; lengths are checked before anything is allocated."""
    if len(plain) < FRAME_LENGTH:
        raise IntegrityError("a part is shorter than its frame", hint="run check")
    codec, flags, reserved, dictionary, decoded_length, added, table_length = _FRAME.unpack_from(plain)
    if flags or reserved or dictionary or codec not in (Codec.RAW, Codec.ZSTD):
        raise UnsupportedFormatError(
            f"a part is encoded with codec {codec}, dictionary {dictionary}: not known here",
            hint="use a newer Syncova",
        )
    start = FRAME_LENGTH + table_length
    end = len(plain) - added
    if start > end or decoded_length > max_decoded:
        raise IntegrityError("a part declares impossible lengths", hint="run check")
    view = memoryview(plain)
    payload = decompress(codec, view[start:end], decoded_length)
    return Frame(bytes(view[FRAME_LENGTH:start]), payload)
