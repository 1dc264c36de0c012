"""Compression: zstd with one context per thread, raw when that is not smaller.

Owns codec numbers and levels. Both directions run in C without the interpreter lock.
"""

import enum
import threading

import zstandard

from repositories.engine.errors import ConfigurationError, IntegrityError

LEVELS: dict[str, int] = {"off": 0, "fast": 1, "default": 3, "max": 15}


class Codec(enum.IntEnum):
    """How a payload is encoded."""

    RAW = 0
    ZSTD = 1


class _Contexts(threading.local):
    """The zstd contexts of one thread: they must not be shared, and making one costs more than a small block."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def level_of(name: str) -> int:
    """Return the zstd level of `off`, `fast`, `default` or `max` (off is 0). Raises ConfigurationError."""
    try:
        return LEVELS[name]
    except KeyError:
        raise ConfigurationError(f"{name!r} is no compression", hint=f"use one of {', '.join(LEVELS)}") from None


def compress(data: bytes | bytearray | memoryview, level: int) -> tuple[Codec, bytes | bytearray | memoryview]:
    """Return codec and payload; the payload is `data` itself when compressing does not make it smaller."""
    if level and len(data):
        compressor = _contexts.compressors.get(level)
        if compressor is None:
            compressor = _contexts.compressors[level] = zstandard.ZstdCompressor(level=level)
        packed = compressor.compress(data)
        if len(packed) < len(data):
            return Codec.ZSTD, packed
    return Codec.RAW, data


def decompress(codec: int, payload: memoryview, decoded_length: int) -> bytes:
    """Return the decoded bytes: exactly `decoded_length`, which the caller has checked against a limit.

    Raises IntegrityError. A frame that declares another size is refused before anything is allocated.
    """
    if codec == Codec.RAW:
        decoded = bytes(payload)
    elif codec == Codec.ZSTD:
        decoded = _decompress_zstd(payload, decoded_length)
    else:
        raise IntegrityError(f"codec {codec} is not known here", hint="use a newer Syncova")
    if len(decoded) != decoded_length:
        raise IntegrityError("a payload does not have its declared length", hint="run check")
    return decoded


def _decompress_zstd(payload: memoryview, decoded_length: int) -> bytes:
    try:
        if zstandard.frame_content_size(payload) != decoded_length:
            raise IntegrityError("a compressed payload declares another length", hint="run check")
        return _contexts.decompressor.decompress(payload, max_output_size=decoded_length)
    except zstandard.ZstdError as error:
        raise IntegrityError("a compressed payload is damaged", hint="run check") from error
