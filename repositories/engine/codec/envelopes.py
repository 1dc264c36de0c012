"""Whole sealed objects that hold one record: header, one part, nothing else.

Owns sealing and opening them. A record object ends with its only part; trailing bytes are refused.
"""

from collections.abc import Callable

import msgspec

from repositories.engine.codec.compression import LEVELS
from repositories.engine.codec.frames import decode_frame, encode_frame
from repositories.engine.codec.sealing import derive_seal
from repositories.engine.errors import IntegrityError
from repositories.engine.format.headers import OBJECT_HEADER_LENGTH, SALT_LENGTH, ObjectHeader, parse_object_header
from repositories.engine.format.kinds import ObjectKind, PartKind, most_record
from repositories.engine.ids import Randomness


class SealingKey(msgspec.Struct, frozen=True):
    """The secret that seals new objects, with its epoch (the generation for keyrings)."""

    repository_id: bytes
    epoch: int
    secret: bytes
    padding: bool = False

    def __repr__(self) -> str:
        return f"SealingKey(repository_id={self.repository_id!r}, epoch={self.epoch})"


def new_header(kind: ObjectKind, object_id: bytes, epoch: int, randomness: Randomness) -> ObjectHeader:
    """Return the header of a new object with a fresh salt."""
    return ObjectHeader(kind, object_id, randomness(SALT_LENGTH), epoch)


def seal_record(key: SealingKey, header: ObjectHeader, payload: bytes, extra: bytes = b"") -> bytes:
    """Return the object bytes of a record payload."""
    seal = derive_seal(key.secret, header, key.repository_id)
    frame = encode_frame(payload, LEVELS["default"], padding=key.padding)
    return seal.header + seal.seal(0, PartKind.RECORD, frame, extra)


def open_record(
    repository_id: bytes,
    secret_of: Callable[[int], bytes],
    identity: tuple[ObjectKind, bytes],
    data: bytes,
    extra: bytes = b"",
) -> bytes:
    """Return the payload of the object `identity` (kind, id) from its bytes.

    `secret_of` maps the header's epoch to its secret. Raises IntegrityError for anything but the whole true object.
    """
    return decode_record(identity[0], unseal_record(repository_id, secret_of, identity, data, extra))


def unseal_record(
    repository_id: bytes,
    secret_of: Callable[[int], bytes],
    identity: tuple[ObjectKind, bytes],
    data: bytes,
    extra: bytes = b"",
) -> bytes:
    """Return what `decode_record` makes the payload of; between the two, `data` may be let go."""
    header = parse_object_header(data)
    if (header.kind, header.object_id) != identity:
        raise IntegrityError("an object lies under another object's name", hint="run check")
    seal = derive_seal(secret_of(header.epoch), header, repository_id)
    return seal.open(0, PartKind.RECORD, memoryview(data)[OBJECT_HEADER_LENGTH:], extra)


def decode_record(kind: ObjectKind, plain: bytes) -> bytes:
    """Return the payload in an unsealed record of this kind. Raises IntegrityError."""
    return decode_frame(plain, most_record(kind)).payload
