"""The write session of a copy: it takes whole blocks, and its manifests tell where they come from.

Owns these two. All else is a write session's (repositories/engine/sessions/write.py).
"""

from repositories.engine.copying.request import FLUSH_SECONDS
from repositories.engine.format.commits import CopiedFrom, CopiedManifestRecord, ManifestRecord
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.packs.directory import PackClass
from repositories.engine.packs.table import table_ids
from repositories.engine.packs.whole_blocks import WholeBlock
from repositories.engine.repository import Repository, WriteOptions, WriteSession


class CopySession(WriteSession):
    """One writer of copies; one thread.

    `coming` says of what the next commit is a copy (None: of nothing), and when the original had been received.
    """

    def __init__(self, repository: Repository, options: WriteOptions, flush_seconds: float = FLUSH_SECONDS) -> None:
        """Begin as every write session does. Raises UnsupportedFormatError, and the storage's errors."""
        repository.require_writable()
        super().__init__(repository, options)
        self._flush_seconds = flush_seconds
        self._next_flush = repository.clock.monotonic() + flush_seconds
        self.resealed_blocks = 0
        self.coming: tuple[CopiedFrom | None, int] | None = None

    def put(self, kind: ChunkKind, data: bytes | bytearray | memoryview) -> tuple[bytes, bool]:
        """Store a chunk as every write session does."""
        stored = super().put(kind, data)
        self._flush_when_due()
        return stored

    def fits(self, kind: ChunkKind, chunk_id: bytes, length: int) -> bool:
        """Tell whether a chunk that counts as stored is of this kind and length; what is in flight here was proven."""
        return self._index.present(chunk_id) is None or fits(self._index, kind, chunk_id, length)

    def put_block(self, pack_class: PackClass, block: WholeBlock) -> None:
        """Store a block of a related repository, whose chunks are all missing here. Raises what poisoned the session.

        Waits while too much is in flight.
        """
        with self._lock:
            self._own.update(table_ids(block.table))
            self.new_chunks += block.count
            self.resealed_blocks += 1
            self._pipeline.submit_whole(pack_class, block)
        self._flush_when_due()

    def _flush_when_due(self) -> None:
        """Make what was stored findable now and then: a copy that is killed goes on from there."""
        now = self.repository.clock.monotonic()
        if now >= self._next_flush:
            self.flush()
            self._next_flush = now + self._flush_seconds

    def _manifest_of(self, root: bytes) -> ManifestRecord:
        plain = super()._manifest_of(root)
        if self.coming is None:
            return plain
        copied, received_ns = self.coming
        if copied is None:
            return ManifestRecord(plain.fence, received_ns, plain.generation, plain.session_id, root)
        return CopiedManifestRecord(plain.fence, received_ns, plain.generation, plain.session_id, root, copied)


def fits(index: ChunkIndex, kind: ChunkKind, chunk_id: bytes, length: int) -> bool:
    """Tell whether the index knows a chunk as one of this kind and length."""
    place = index.locate(kind, chunk_id)
    return place is not None and place.length == length
