"""Whose each chunk is: used by nobody, by one backup alone, by one source alone, or shared.

Owns whose a chunk becomes. A page is gone through again only while that changes whose something is: at most three
times, however many backups share it. Eight bytes a chunk.
"""

from array import array
from typing import Final

from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.walking import Walk
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat

NOBODY: Final = 0
SHARED: Final = 2**32 - 1

Owner = tuple[int, int]
"""The number of a backup (or of a group of them) and the number of its source; both begin at 1."""


class Ownership:
    """Owners by the ordinals that stand for chunks. `missing` counts chunks that are named and in no index."""

    def __init__(self, index: CompactIndex, source: ChunkSource, beat: Beat) -> None:
        self._index = index
        self._walk = Walk(source, self._take, beat)
        self._roles = bytearray(len(index))
        self._backups = array("I", bytes(4 * len(index)))
        self._sources = array("I", bytes(4 * len(index)))
        self._owner: Owner = (0, 0)
        self.missing = 0

    def owners(self, standing: int) -> Owner:
        """Return the backup and the source that alone use a chunk; NOBODY, SHARED."""
        return self._backups[standing], self._sources[standing]

    def add(self, root: BackupRoot, owner: Owner) -> None:
        """Walk one backup. Raises IntegrityError or ObjectMissingError where it cannot be read."""
        self._owner = owner
        self._walk.backup(root)

    def _take(self, _: ChunkKind, chunk_id: bytes, role: int) -> bool:
        """Note that the owner uses a chunk; return whether that was not known in full."""
        at = self._index.find(chunk_id)
        if at is None:
            self.missing += 1
            return True
        changed = not self._roles[at] & role
        self._roles[at] |= role
        for owners, owner in ((self._backups, self._owner[0]), (self._sources, self._owner[1])):
            before = owners[at]
            if before not in (owner, SHARED):
                owners[at] = SHARED if before else owner
                changed = True
        return changed
