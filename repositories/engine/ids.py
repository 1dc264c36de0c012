"""Identifiers: object ids, UUIDv7, backup ids, short ids, and the kinds of chunks.

Owns how ids are made and shown. Must not know what an id points at.
"""

import enum
import os
import re
import uuid
from collections.abc import Callable

import blake3

Randomness = Callable[[int], bytes]
"""Returns n unpredictable bytes; tests pass a deterministic one to pin stored bytes."""

OBJECT_ID_LENGTH = 16
CHUNK_ID_LENGTH = 32
SHORT_ID_LENGTH = 8
_SOURCE_PART_LENGTH = 14
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")

system_randomness: Randomness = os.urandom


class ChunkKind(enum.IntEnum):
    """What a chunk holds; each kind has its own id key. DATA lives in data packs, the others in metadata packs."""

    DATA = 1
    PAGE = 2
    STREAM = 3


def uuid7(now_ns: int) -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562, method 3: 12 bits of sub-millisecond time) for wall time `now_ns`."""
    milliseconds, rest_ns = divmod(now_ns, 1_000_000)
    fraction = rest_ns * 4096 // 1_000_000
    random_bits = int.from_bytes(os.urandom(8), "big") & 0x3FFF_FFFF_FFFF_FFFF
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random_bits
    return uuid.UUID(int=value)


def new_object_id(randomness: Randomness) -> bytes:
    """Return a random 128-bit object id."""
    return randomness(OBJECT_ID_LENGTH)


def backup_id(run_id: uuid.UUID, source_type: str, source_id: bytes) -> str:
    """Return `run-<uuid>-<up to 14 readable characters>-<8 hex>`, at most 64 characters (A8).

    The readable part never holds a separator, a leading dot or `..`; the hash keeps two sources of a run apart.
    """
    readable = _NOT_PLAIN.sub("-", source_id.decode("utf-8", "replace"))
    while ".." in readable:
        readable = readable.replace("..", ".")
    readable = readable.strip("-.")[-_SOURCE_PART_LENGTH:].lstrip("-.") or "root"
    digest = blake3.blake3(source_type.encode() + b"\0" + source_id).hexdigest()[:8]
    return f"run-{run_id}-{readable}-{digest}"


def short_id(long_id: str) -> str:
    """Return the 8-character form of a backup id or object name: the start of the BLAKE3 of its text.

    The first characters of the ids themselves would be a time, the same for all backups of one minute.
    """
    return blake3.blake3(long_id.encode()).hexdigest()[:SHORT_ID_LENGTH]
