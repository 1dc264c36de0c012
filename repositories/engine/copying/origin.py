"""The repository that is copied from: its chunks by ordinal, read with the bandwidth's leave, and how far we are.

Owns reading. Whatever comes out of here was authenticated, decoded and hashed again.
"""

from collections.abc import Callable

from repositories.engine.backup.options import Hooks
from repositories.engine.copying.chunks import ChunksByOrdinal
from repositories.engine.errors import OperationCancelledError
from repositories.engine.ids import ChunkKind
from repositories.engine.overview.places import places_of
from repositories.engine.packs.blocks import DecodedBlock
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.whole_blocks import WholeBlock
from repositories.engine.progress import Progress
from repositories.engine.repository import Repository

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
        self.index = places_of(repository)
        self._packs = _MeteredPacks(repository, pulse)
        self._chunks = ChunksByOrdinal(self.index, self._packs, repository.keyring)

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        return self._chunks.read(kind, chunk_id)

    def read_whole(self, pack: int, position: int) -> WholeBlock:
        """Return a block as it is stored, all its chunks proven. Raises IntegrityError or ObjectMissingError."""
        return self._packs.read_whole(self.index.place_of(pack, position))

    def length_of(self, chunk_id: bytes) -> int | None:
        """Return the length of a chunk, or None if no index names it."""
        standing = self.index.find(chunk_id)
        return None if standing is None else self.index.length_at(standing)
