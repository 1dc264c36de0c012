"""The narrow view of a repository and its write session that a backup needs.

Owns no behaviour: the front door (repositories.engine.repository) satisfies it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import AcceptedManifest, BackupStore
from repositories.engine.manifest.chunks import ChunkSink
from repositories.engine.manifest.pages_ahead import AnyPages


class Stream(Protocol):
    """What content is cut from."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill part of `buffer`; return the number of bytes, 0 at the end."""


class Cutter(Protocol):
    """Cuts content by a repository's parameters; for one thread."""

    @property
    def min_size(self) -> int:
        """Content up to this size is one chunk."""

    def cut(self, stream: Stream) -> Iterator[memoryview]:
        """Yield the chunks in order; each view is valid until the next one is asked for."""


class Keys(Protocol):
    """The keys in use."""

    @property
    def generation(self) -> int:
        """The generation of the keyring."""


class StoredCheckpoints(Protocol):
    """Checkpoints of unfinished backups, oldest first: those that count, those that a prune made void."""

    @property
    def counted(self) -> Sequence[AcceptedManifest]:
        """Those that may be gone on from."""

    @property
    def void(self) -> Sequence[AcceptedManifest]:
        """Those whose chunks may be gone."""

    @property
    def damaged(self) -> Sequence[str]:
        """The names of those that cannot be read."""


class BackupRepository(BackupStore, Protocol):
    """The repository that a session writes to."""

    @property
    def keyring(self) -> Keys:
        """The keys in use."""

    def checkpoints(self) -> StoredCheckpoints:
        """Return the checkpoints of unfinished backups."""

    def chunker(self) -> Cutter:
        """Return a chunker of this repository's parameters, for one thread."""


class Presence(Protocol):
    """Knows which chunks are there."""

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        """Return whether a chunk can be referred to."""


class BackupSession(ChunkSink, Protocol):
    """Takes chunks and commits a root; any failed write poisons it, and later calls raise that failure."""

    @property
    def repository(self) -> BackupRepository:
        """The repository that is written to."""

    @property
    def stored_bytes(self) -> int:
        """Bytes put so far."""

    @property
    def new_chunks(self) -> int:
        """Chunks so far that were not there before."""

    def reader(self) -> AnyPages:
        """Return what reads the chunks that were there when the session began."""

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        """Return whether a chunk can be referred to."""

    def distrust_metadata(self) -> None:
        """Store pages and streams again even if they are there: those of the parent could not be read."""

    def flush(self) -> None:
        """Make all chunks durable and findable."""

    def checkpoint(self, root: bytes, *, breaks_off: bool = False) -> str:
        """Flush, then put the root of an unfinished backup; `breaks_off` when the backup is about to end early."""

    def commit(self, root: bytes, confirm: Callable[[], None]) -> str:
        """Put the manifest, `confirm` being called directly before; return its object id."""
