"""The narrow view of a repository that manifests need: put a chunk, read a chunk, name a chunk.

A write session and a chunk reader satisfy these; so does a dictionary in a test.
"""

from typing import Protocol

from repositories.engine.ids import ChunkKind


class ChunkSink(Protocol):
    """Takes chunks; a failed put poisons it for good (engine.md, section 3)."""

    def chunk_id(self, kind: ChunkKind, data: bytes | memoryview) -> bytes:
        """Return the keyed hash that names `data` as a chunk of this kind."""

    def put(self, kind: ChunkKind, data: bytes | memoryview) -> tuple[bytes, bool]:
        """Store a chunk unless it is present; return its id and whether it was new."""


class ChunkSource(Protocol):
    """Gives chunks back, verified."""

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return the chunk; raises ObjectMissingError or IntegrityError."""
