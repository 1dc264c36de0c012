"""The header Range of a download (RFC 9110): which one stretch of a file is asked for, and the tag that it belongs to.

Owns the reading of both headers. What is no single range of bytes is passed over, as is one for another tag: the whole
file is then the answer. Which bytes it means is told where the file's size is known.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import ClassVar, Final

from syncova_project.errors import SyncovaError

# Longer numbers mean no file that there is.
_RANGE: Final = re.compile(r"\s*bytes\s*=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)


class RangeNotSatisfiableError(SyncovaError):
    """The file ends before the range that is asked for; `details.size` is its length."""

    code: ClassVar[str] = "RANGE_NOT_SATISFIABLE"
    status: ClassVar[int] = 416

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The file has {size:,} bytes: nothing of it lies in this range.",
            hint="Leave the header Range out, or ask for less.",
            details={"size": size},
        )
        self.headers = {"Content-Range": f"bytes */{size}"}


@dataclass(frozen=True, slots=True)
class ByteRange:
    """From `first` to `last`, both included; `last` None is the file's end, `first` None its last `last` bytes."""

    first: int | None
    last: int | None


def tag_of(manifest_id: str, path: bytes) -> str:
    """Return the strong ETag of a file of a backup: what a manifest says of a path never changes."""
    return f'"{hashlib.sha256(manifest_id.encode() + bytes(1) + path).hexdigest()[:32]}"'


def asked_range(header: str | None, if_range: str | None, tag: str) -> ByteRange | None:
    """Return the range that is asked for, None for the whole file."""
    found = _RANGE.fullmatch(header or "")
    if found is None or (if_range is not None and if_range.strip() != tag):
        return None
    first, last = (int(digits) if digits else None for digits in found.groups())
    if first is None and last is None:
        return None
    is_reversed = first is not None and last is not None and last < first
    return None if is_reversed else ByteRange(first, last)
