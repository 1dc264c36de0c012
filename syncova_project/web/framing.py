"""Whether the bytes that arrived so far are a whole HTTP request. Pure: bytes in, a verdict out.

Owns the end of a request alone. What it says, and whether it is well formed, the server's parser decides: whatever
cannot be understood here counts as whole, so that the parser gets to refuse it.
"""

from dataclasses import dataclass
from typing import Final

HEAD_LIMIT: Final = 64 * 1024
# Above what the application takes (DATA_UPLOAD_MAX_MEMORY_SIZE): it refuses a longer one by its announced length.
BODY_LIMIT: Final = 4 * 1024 * 1024
_HEAD_END, _LINE_END = b"\r\n\r\n", b"\r\n"
_LONGEST_SIZE_LINE = 1024


@dataclass(slots=True)
class Framing:
    """How far the request in one growing buffer is known; for one request only."""

    head_end: int = 0
    wants_continue: bool = False
    _body_end: int = 0
    _chunk_at: int = 0
    _looked: int = 0

    def is_whole(self, data: bytearray) -> bool:
        """Tell whether `data` holds the request to its end; called again with more of the same bytes."""
        if not self.head_end:
            found = data.find(_HEAD_END, max(0, self._looked - 3))
            self._looked = len(data)
            if found < 0:
                return False
            self.head_end = found + len(_HEAD_END)
            self._read_head(bytes(data[:found]))
        if self._chunk_at:
            return self._chunks_end(data)
        return len(data) >= self._body_end

    def is_too_long(self, data: bytearray) -> bool:
        """Tell whether the head has more than is taken, or a body of unknown length."""
        return self.has_long_head(data) or len(data) > HEAD_LIMIT + BODY_LIMIT

    def has_long_head(self, data: bytearray) -> bool:
        """Tell whether the head has more than is taken, also before its end is there."""
        return (self.head_end or len(data)) > HEAD_LIMIT

    def _read_head(self, head: bytes) -> None:
        for line in head.split(_LINE_END)[1:]:
            name, _, value = line.partition(b":")
            name, value = name.strip().lower(), value.strip()
            if name == b"content-length" and value.isdigit() and len(value) < 20:
                length = int(value)
                self._body_end = self.head_end + length if length <= BODY_LIMIT else self.head_end
            elif name == b"transfer-encoding" and value.lower().endswith(b"chunked"):
                self._chunk_at = self.head_end
            elif name == b"expect":
                self.wants_continue = True

    def _chunks_end(self, data: bytearray) -> bool:
        while self._chunk_at < len(data):
            line_end = data.find(_LINE_END, self._chunk_at, self._chunk_at + _LONGEST_SIZE_LINE)
            if line_end < 0:
                return len(data) - self._chunk_at >= _LONGEST_SIZE_LINE
            size = _chunk_size(bytes(data[self._chunk_at : line_end]))
            if size is None:
                return True
            if size == 0:
                return data.find(_HEAD_END, line_end) >= 0
            self._chunk_at = line_end + len(_LINE_END) + size + len(_LINE_END)
        return False


def _chunk_size(line: bytes) -> int | None:
    try:
        return int(line.partition(b";")[0].strip(), 16)
    except ValueError:
        return None
