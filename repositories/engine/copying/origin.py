"""The repository that is copied from: its chunks by ordinal, read with the bandwidth's leave, and how far we are.

Owns reading. Whatever comes out of here was authenticated, decoded and hashed again.
"""

import contextlib
from collections.abc import Callable

from repositories.engine.backup.options import Hooks
from repositories.engine.errors import (
    CommitRefusedError,
    ObjectMissingError,
    OperationCancelledError,
    RepositoryError,
)
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.overview.places import places_of
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.whole_blocks import WholeBlock
from repositories.engine.progress import Progress
from repositories.engine.prune.chunks import ChunksByOrdinal
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_newest_sweep

_SECONDS_BETWEEN = 0.2


class Pulse:
    """Cancel, progress and bandwidth; asked for each block and each page."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._next = float("-inf")
        self.phase = "copying"
        self.backups = 0
        self.bytes_read = 0
        self.stored: Callable[[], int] = int

    def __call__(self) -> None:
        """Tell how far we are. Raises OperationCancelledError."""
        now = self._hooks.clock.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        if self._hooks.cancelled():
            raise OperationCancelledError(
                "the copy was cancelled; backups that were copied are whole", hint="run it again to go on"
            )
        self._hooks.report(Progress(self.phase, self.backups, self.bytes_read, self.stored(), b""))

    def read(self, count: int) -> None:
        """Account for bytes that are about to be read."""
        self()
        if self._hooks.read_bucket is not None:
            self._hooks.read_bucket.take(count)
        self.bytes_read += count


class _MeteredPacks(PackReader):
    """Reads blocks and tells the pulse of each."""

    def __init__(self, repository: Repository, pulse: Pulse) -> None:
        super().__init__(repository.store)
        self._pulse = pulse

    def read_block(self, place: BlockPlace) -> DecodedBlock:
        self._pulse.read(place.record.length)
        return super().read_block(place)

    def read_whole(self, place: BlockPlace) -> WholeBlock:
        self._pulse.read(place.record.length)
        return super().read_whole(place)


class Origin:
    """One look at a repository's index; a read session must keep its packs meanwhile. One thread."""

    def __init__(self, repository: Repository, pulse: Pulse) -> None:
        self.repository = repository
        self.pulse = pulse
        self._sweep = read_newest_sweep(repository.store).number
        self.index = places_of(repository)
        self._packs = _MeteredPacks(repository, pulse)
        self._chunks = ChunksByOrdinal(self.index, self._packs, repository.keyring)

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        return self._chunks.read(kind, chunk_id)

    def read_whole(self, pack: int, position: int) -> WholeBlock:
        """Return a block as it is stored, all its chunks proven. Raises IntegrityError or ObjectMissingError."""
        return self._packs.read_whole(self.index.place_of(pack, position))

    def has_lost(self, backup: Backup) -> bool:
        """Tell, after something of it could not be read, whether a prune took this backup meanwhile.

        Raises RepositoryError where the backup is not to blame: the medium is gone, or a prune that held this process
        for dead has moved what it names.
        """
        require_medium(self.repository)
        if all(each.object_id != backup.manifest_id for each in self.repository.backups(deleted=True)):
            return True
        if read_newest_sweep(self.repository.store).number != self._sweep:
            raise CommitRefusedError(
                "a prune passed by in the repository that is copied from, and moved what was still to be read; "
                "backups that were copied are whole",
                hint="run the copy again",
            )
        return False

    def length_of(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        """Return the length of a chunk, or None if no index names one of this kind.

        None, too, where its places do not agree: an id stands for one content, so that one of them must be a lie.
        """
        standing = self.index.find(chunk_id)
        if standing is None:
            return None
        index, length = self.index, self.index.length_at(standing)
        agree = all(index.kind_at(each) == kind and index.length_at(each) == length for each in index.places(standing))
        return length if agree else None


def require_medium(repository: Repository) -> None:
    """Raise RepositoryError when the medium that is copied from is gone: what cannot be read then is not damaged."""
    name = object_name(ObjectKind.CONFIG, repository.config.repository_id)
    for each in names_of(ObjectKind.CONFIG, name):
        with contextlib.suppress(ObjectMissingError):
            repository.storage.size(each)
            return
    raise RepositoryError(
        "the repository that is copied from is gone from its place; backups that were copied are whole",
        hint="look after its medium, then run the copy again",
    )
