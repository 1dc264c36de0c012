"""A dictionary of chunks far away: each page lies in a block of its own, and what is announced is noted."""

from collections.abc import Iterable
from dataclasses import dataclass

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import StreamRef
from tests.engine.manifest.memory_chunks import MemoryChunks


@dataclass(frozen=True)
class OwnBlock:
    """Where a page lies: alone in a block."""

    page: bytes

    @property
    def pack(self) -> bytes:
        return b"pack"

    @property
    def block(self) -> bytes:
        return self.page


class FarAwayChunks(MemoryChunks):
    """`top` is the page that a test has made last; `surprises` were read without an announcement."""

    far = True

    def __init__(self) -> None:
        super().__init__()
        self.announced: dict[bytes, None] = {}
        self.surprises: list[bytes] = []
        self.top: StreamRef | None = None

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> OwnBlock | None:
        return OwnBlock(chunk_id) if (kind, chunk_id) in self.chunks else None

    def expect(self, locations: Iterable[OwnBlock]) -> None:
        self.announced.update(dict.fromkeys(each.page for each in locations))

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        if chunk_id not in self.announced:
            self.surprises.append(chunk_id)
        return super().read(kind, chunk_id)
