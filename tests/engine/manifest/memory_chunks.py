"""A dictionary that takes and gives chunks the way a repository does, with a fixed key."""

import blake3

from repositories.engine.errors import ObjectMissingError
from repositories.engine.ids import ChunkKind

KEY = bytes(range(32))


class MemoryChunks:
    """Chunks by (kind, id); counts what was put and read."""

    def __init__(self) -> None:
        self.chunks: dict[tuple[ChunkKind, bytes], bytes] = {}
        self.puts = 0
        self.reads: list[bytes] = []

    def chunk_id(self, kind: ChunkKind, data: bytes | memoryview) -> bytes:
        return blake3.blake3(bytes([kind]) + bytes(data), key=KEY).digest()

    def put(self, kind: ChunkKind, data: bytes | memoryview) -> tuple[bytes, bool]:
        self.puts += 1
        chunk_id = self.chunk_id(kind, data)
        new = (kind, chunk_id) not in self.chunks
        self.chunks[kind, chunk_id] = bytes(data)
        return chunk_id, new

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        self.reads.append(chunk_id)
        try:
            return self.chunks[kind, chunk_id]
        except KeyError as error:
            raise ObjectMissingError("no such chunk") from error
