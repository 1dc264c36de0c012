"""The canonical record encoding: MessagePack arrays whose position is the field number.

Owns encoding and decoding of every structured value in a repository. Fields are only ever appended; nil means
absent; a decoder ignores trailing fields it does not know, and whoever copies a record copies its raw bytes.
"""

from typing import Annotated, Final, TypeVar

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import CHUNK_ID_LENGTH, OBJECT_ID_LENGTH


class Record(msgspec.Struct, array_like=True, frozen=True):
    """Base of all records: fields in order, integers, bytes, text, nested records and tuples only; no floats."""


ObjectId = Annotated[bytes, msgspec.Meta(min_length=OBJECT_ID_LENGTH, max_length=OBJECT_ID_LENGTH)]
"""The id of an object: 16 bytes, else the record is refused."""
Hash = Annotated[bytes, msgspec.Meta(min_length=CHUNK_ID_LENGTH, max_length=CHUNK_ID_LENGTH)]
"""A chunk id or a BLAKE3: 32 bytes."""

UNDECODABLE: Final = (msgspec.DecodeError, RecursionError)
"""What the decoder raises for bytes that are no such record; the second for nesting without end."""

_R = TypeVar("_R", bound=Record)

_encoder = msgspec.msgpack.Encoder()
_decoders: dict[type[Record], msgspec.msgpack.Decoder[Record]] = {}


def encode(record: Record) -> bytes:
    """Return the canonical bytes of `record`."""
    return _encoder.encode(record)


def decode(data: bytes | memoryview, record_type: type[_R]) -> _R:
    """Return the record that `data` holds.

    Raises IntegrityError when the bytes are no such record. Thread safe.
    """
    decoder = _decoders.get(record_type)
    if decoder is None:
        decoder = _decoders[record_type] = msgspec.msgpack.Decoder(record_type)
    try:
        return decoder.decode(data)  # type: ignore[return-value]  # the decoder was made for record_type
    except UNDECODABLE as error:
        raise IntegrityError(
            f"a stored {record_type.__name__} record cannot be decoded: {error}",
            hint="run check to find out which objects are damaged",
        ) from error
