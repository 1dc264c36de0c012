"""Content-defined chunking: keyed FastCDC over a stream, by the native build of pyfastcdc.

Owns the derivation of the cut points from the chunker key and the reading buffer. Sources are read, never mmapped: a
file that shrinks under a mapping kills the process. The key makes cut points differ between repositories; it is no
cipher: the gear table is masked with 63 derived bits, of which about 48 take part (docs/repository-format.md).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import blake3

from repositories.engine.errors import ConfigurationError, UnsupportedFormatError
from repositories.engine.keys.keyring import CHUNKER_FASTCDC, ChunkerRecord, Keyring

if TYPE_CHECKING:
    from pyfastcdc import NormalizedChunking

_SEED_CONTEXT = b"syncova/1 chunker seed"
_LEVELS: "tuple[NormalizedChunking, ...]" = (0, 1, 2, 3)
_SEED_MASK = (1 << 63) - 1  # the library shifts the seed left once; more bits would not fit its word


class BinaryReader(Protocol):
    """What a Chunker reads from."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill part of `buffer`; return the number of bytes, 0 at the end."""
        ...


class Chunker:
    """Cuts streams. One instance per thread: it owns a buffer of twice the largest chunk."""

    def __init__(self, record: ChunkerRecord) -> None:
        # Not needed, nor imported, where nothing is read.
        import pyfastcdc

        self.min_size = record.min_size
        self.max_size = record.max_size
        self._cutter = pyfastcdc.FastCDC(
            record.average,
            min_size=record.min_size,
            max_size=record.max_size,
            normalized_chunking=_level(record.normalization),
            seed=cut_seed(record.key),
        )
        self._buffer: bytearray | None = None

    def cut(self, stream: BinaryReader) -> Iterator[memoryview]:
        """Yield the chunks of `stream` in order; each view is valid only until the next one is asked for.

        A stream no longer than `min_size` is one chunk, an empty one is none. Cut points depend on content, key and
        sizes only, never on how much a read returns.
        """
        if self._buffer is None:
            self._buffer = bytearray(2 * self.max_size)
        buffer = memoryview(self._buffer)
        start = filled = 0
        ended = False
        while True:
            while not ended and filled < len(buffer):
                count = stream.readinto(buffer[filled:])
                ended = not count
                filled += count or 0
            for chunk in self._cutter.cut_buf(buffer[start:filled]):
                if not ended and filled - start < self.max_size:
                    break
                yield chunk.data
                start += chunk.length
            if ended:
                return
            buffer[: filled - start] = buffer[start:filled]
            start, filled = 0, filled - start


def cutter(keyring: Keyring) -> Chunker:
    """Return a chunker of the keyring's current parameters. Raises ConfigurationError without the native build."""
    record = keyring.chunker()
    if record.algorithm != CHUNKER_FASTCDC:
        raise UnsupportedFormatError(f"chunker {record.algorithm} is not known here", hint="use a newer Syncova")
    import pyfastcdc

    if not pyfastcdc.FastCDC.__module__.startswith("pyfastcdc.cy"):
        raise ConfigurationError(
            "pyfastcdc is installed without its native part, which is about 200 times slower",
            hint="install the wheel of pyfastcdc for this platform",
        )
    return Chunker(record)


def _level(normalization: int) -> "NormalizedChunking":
    for known in _LEVELS:
        if known == normalization:
            return known
    raise UnsupportedFormatError(f"chunker normalization {normalization} is not known here", hint="use a newer Syncova")


def cut_seed(key: bytes) -> int:
    """Return the gear seed of a 32-byte chunker key: never zero, which would mean the library's public table."""
    digest = blake3.blake3(_SEED_CONTEXT, key=key).digest(8)
    return int.from_bytes(digest, "big") & _SEED_MASK or 1
