"""POSIX access control lists in the text form that tar archives carry, from the bytes that the kernel gives.

Owns that translation. Users and groups are numbers: names mean something else on another machine.
"""

import struct
from typing import Final

_VERSION: Final = 2
_NOBODY: Final = 0xFFFFFFFF
_ENTRY: Final = struct.Struct("<HHI")
_TAGS: Final = {
    0x01: "user::",
    0x02: "user:{}:",
    0x04: "group::",
    0x08: "group:{}:",
    0x10: "mask::",
    0x20: "other::",
}


def acl_text(value: bytes) -> bytes | None:
    """Return an ACL as `user::rw-,user:1000:r--,…`, or None when it is none that is known."""
    if len(value) < 4 or (len(value) - 4) % _ENTRY.size or struct.unpack_from("<I", value)[0] != _VERSION:
        return None
    parts = []
    for tag, bits, number in _ENTRY.iter_unpack(value[4:]):
        form = _TAGS.get(tag)
        if form is None or bits > 7 or ("{}" in form and number == _NOBODY):
            return None
        letters = "".join(letter if bits & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1)))
        parts.append(form.format(number) + letters)
    return ",".join(parts).encode("ascii")
