"""Records taken apart without being understood: what is not to be changed keeps its bytes, unknown fields too.

Owns that alone. A record is an array; its position is the field number.
"""

from collections.abc import Mapping

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.format.records import UNDECODABLE
from repositories.engine.manifest.entries import encode

Raw = bytes | memoryview | msgspec.Raw

_fields_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])


def fields_of(raw: Raw) -> list[msgspec.Raw]:
    """Return the fields of a record, or the items of an array. Raises IntegrityError."""
    try:
        return _fields_decoder.decode(raw)
    except UNDECODABLE as error:
        raise IntegrityError(f"a record of a manifest cannot be taken apart: {error}") from error


def with_fields(raw: Raw, changes: Mapping[int, object]) -> bytes:
    """Return the record with some fields changed; a field that it does not have is left away."""
    fields = fields_of(raw)
    for number, value in changes.items():
        if number < len(fields):
            fields[number] = msgspec.Raw(encode(value))
    return encode(fields)


def as_raw(data: bytes) -> msgspec.Raw:
    """Return encoded bytes as a value that goes into a record as it is."""
    return msgspec.Raw(data)
