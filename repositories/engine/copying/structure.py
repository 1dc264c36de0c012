"""Whether a backup of the origin could be restored, as far as that can be told without reading contents.

Owns asking the check's walk over pages (order, counts, sums, lengths, and that each chunk is in the index): what no
reader would take is not carried over as if it were a backup. Each page is read for that once, however many backups
share it.
"""

from dataclasses import dataclass
from typing import cast

from repositories.engine.check.references import ReferenceCheck
from repositories.engine.copying.origin import Origin
from repositories.engine.display import show_count
from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.reader import ChunkReader


@dataclass(frozen=True, slots=True)
class _Place:
    length: int


class _OriginReader:
    """What the walk asks of a chunk reader."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        # The walk keeps lengths by the ordinals of an index of this form; ours are asked for below.
        self.index = ChunkIndex(frozenset(), {})

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        return self._origin.read(kind, chunk_id)

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> _Place | None:
        length = self._origin.length_of(kind, chunk_id)
        return None if length is None else _Place(length)


class Structure(ReferenceCheck):
    """Looks at the backups of one copy, one after another."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(cast(ChunkReader, _OriginReader(origin)), frozenset(), origin.pulse)
        self._origin = origin

    def require_whole(self, root: BackupRoot) -> None:
        """Raise IntegrityError unless everything that the backup names can be found and makes sense."""
        hurt = self.check(root)
        if hurt.count:
            raise IntegrityError(
                f"{show_count(hurt.count, 'object')} of it cannot be restored, the first is {hurt.paths[0]}",
                hint="run check on the origin",
            )

    def _length(self, kind: ChunkKind, chunk_id: bytes) -> int | None:
        # The origin's index is asked each time: a million lengths need not be kept beside it.
        return self._origin.length_of(kind, chunk_id)
