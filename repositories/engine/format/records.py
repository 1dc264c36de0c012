"""The canonical record encoding: MessagePack arrays whose position is the field number.

Owns encoding and decoding of every structured value in a repository. Fields are only ever appended; nil means
absent; a decoder ignores trailing fields it does not know, and whoever copies a record copies its raw bytes.
"""

from typing import TypeVar

import msgspec

from repositories.engine.errors import IntegrityError


class Record(msgspec.Struct, array_like=True, frozen=True):
    """Base of all records: fields in order, integers, bytes, text, nested records and tuples only; no floats."""


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
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise IntegrityError(
            f"a stored {record_type.__name__} record cannot be decoded: {error}",
            hint="run check to find out which objects are damaged",
        ) from error
