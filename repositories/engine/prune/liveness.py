"""Which chunks backups use: every page is gone through once, however many backups share it.

Owns the marking. What cannot be read might have named anything: it ends the walk, so that nothing is ever deleted for
being unknown.
"""

from repositories.engine.errors import BackupUnreadableError, IntegrityError, ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.walking import Walk
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat


class Liveness:
    """The chunks that were found to be used, by the ordinals that stand for them. `unindexed` were in no index."""

    def __init__(self, index: CompactIndex, source: ChunkSource, beat: Beat) -> None:
        self._index = index
        self._walk = Walk(source, self._mark, beat)
        self._uses = bytearray()
        self.unindexed = 0

    def is_used(self, standing: int) -> bool:
        """Tell whether the chunk that this ordinal stands for is used."""
        return standing < len(self._uses) and self._uses[standing] != 0

    def add(self, root: BackupRoot) -> None:
        """Mark all that a backup uses. Raises BackupUnreadableError, and the storage's errors."""
        try:
            self._walk.backup(root)
        except (IntegrityError, ObjectMissingError) as error:
            raise BackupUnreadableError(
                f"backup {root.backup_id[:80]} of source {root.source.name[:80]!r} cannot be read whole: "
                f"{error.message}; nothing was deleted",
                hint="run check, then repair; or forget this backup, then prune again",
            ) from error

    def _mark(self, _: ChunkKind, chunk_id: bytes, use: int) -> bool:
        """Mark a chunk; return whether it had not been marked for this use."""
        standing = self._index.find(chunk_id)
        if standing is None:
            self.unindexed += 1
            return True
        if standing >= len(self._uses):
            self._uses.extend(bytes(len(self._index) - len(self._uses)))
        known = self._uses[standing]
        if known & use:
            return False
        self._uses[standing] = known | use
        return True
