"""Which chunks a backup names, walked page by page; what earlier backups of the same copy named is passed over.

Owns what is new of each, and taking it back: after a backup that cannot be read nothing counts as walked that it came
to. What is in no index, or cannot be decoded, ends it: that backup is not copied.
"""

from array import array

from repositories.engine.copying.origin import Origin
from repositories.engine.errors import ObjectMissingError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.walking import Walk


class Needs:
    """The walk over the backups of one copy, oldest first."""

    def __init__(self, origin: Origin) -> None:
        self._index = origin.index
        self._walk = Walk(origin, self._name, origin.pulse)
        self._uses = bytearray(len(origin.index))
        self._changed = array("I")
        self._before = bytearray()
        self.ordinals = array("I")
        self.kinds = bytearray()

    def walk(self, root: BackupRoot) -> None:
        """Leave in `ordinals` (and `kinds` beside it) the chunks that this backup names and none before it did.

        Raises IntegrityError or ObjectMissingError where the backup cannot be read, or names what is in no index.
        """
        self._changed, self._before = array("I"), bytearray()
        self.ordinals, self.kinds = array("I"), bytearray()
        self._walk.backup(root)

    def take_back(self) -> None:
        """Forget what the last backup named: it was not copied."""
        for ordinal, before in zip(reversed(self._changed), reversed(self._before), strict=True):
            self._uses[ordinal] = before

    def _name(self, kind: ChunkKind, chunk_id: bytes, use: int) -> bool:
        """Take note of a chunk; return whether it is new in this role."""
        ordinal = self._index.find(chunk_id)
        if ordinal is None:
            raise ObjectMissingError(f"chunk {chunk_id.hex()} is in no index", hint="run check on the origin")
        known = self._uses[ordinal]
        if known & use:
            return False
        self._changed.append(ordinal)
        self._before.append(known)
        self._uses[ordinal] = known | use
        if not known:
            self.ordinals.append(ordinal)
            self.kinds.append(kind)
        return True
