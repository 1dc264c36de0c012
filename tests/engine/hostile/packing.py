"""A MessagePack encoder that writes what no encoder of ours would: for records that someone made by hand."""

import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raw:
    """Bytes that stand in the message as they are, whatever they mean."""

    data: bytes


def pack(value: Any) -> bytes:
    """Return a message of lists, integers of up to 64 bits, bytes, text, None, booleans, floats and Raw parts.

    Whatever else it is given becomes an empty map.
    """
    if isinstance(value, Raw):
        return value.data
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return _pack_integer(int(value))
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return (
            b"\xc6" + struct.pack(">I", len(value)) + value if len(value) > 255 else b"\xc4%c%b" % (len(value), value)
        )
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return b"\xdb" + struct.pack(">I", len(data)) + data
    if isinstance(value, list):
        return pack_array([pack(each) for each in value])
    return b"\x80"


def pack_array(parts: list[bytes]) -> bytes:
    """Return an array of messages that are packed already."""
    head = bytes([0x90 + len(parts)]) if len(parts) < 16 else b"\xdd" + struct.pack(">I", len(parts))
    return head + b"".join(parts)


def _pack_integer(value: int) -> bytes:
    if 0 <= value < 128:
        return bytes([value])
    if value < 0:
        return b"\xd3" + (value & 2**64 - 1).to_bytes(8, "big")
    return b"\xcf" + (value & 2**64 - 1).to_bytes(8, "big")
