"""The two ways in which a backup's chunks come into the target: with their ids kept, or under new ones.

Owns which of them a pair of repositories takes, and what each must do after a backup that could not be read.
"""

from typing import Protocol

from repositories.engine.copying.learning import Learning
from repositories.engine.copying.needs import Needs
from repositories.engine.copying.origin import Origin
from repositories.engine.copying.related import Presence, bytes_of, carry_over, lacking
from repositories.engine.copying.session import CopySession, fits
from repositories.engine.copying.unrelated import Translation
from repositories.engine.ids import ChunkKind
from repositories.engine.index.lookup import ChunkIndex
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.repository import Repository


class Carrier(Protocol):
    """Brings what a backup names into the target's session."""

    @property
    def missing_bytes(self) -> int:
        """Return the content that the target lacked so far, before compression."""

    def carry(self, root: BackupRoot, raw: bytes) -> dict[int, object]:
        """Store all that the backup names and the target lacks; return the fields of its root that change.

        Raises IntegrityError or ObjectMissingError where the backup cannot be read, and what poisoned the session.
        """

    def learn(self, original: BackupRoot, copy: BackupRoot) -> None:
        """Learn from a backup that was copied earlier what need not be read again."""

    def take_back(self) -> None:
        """Count nothing as known that the last backup named: it was not copied."""


class RelatedCarrier:
    """Between repositories whose chunks have the same ids."""

    def __init__(self, origin: Origin, session: CopySession) -> None:
        self._origin = origin
        self._session = session
        self._needs = Needs(origin)
        self._missing = 0

    @property
    def missing_bytes(self) -> int:
        """Return the content that the target lacked so far."""
        return self._missing

    def carry(self, root: BackupRoot, raw: bytes) -> dict[int, object]:
        """Store what is missing; nothing of the root changes."""
        self._needs.walk(root)
        missing = lacking(self._origin, (self._needs.ordinals, self._needs.kinds), self._session)
        carry_over(self._origin, missing, self._session)
        self._missing += bytes_of(self._origin, missing)
        return {}

    def learn(self, original: BackupRoot, copy: BackupRoot) -> None:
        """Do nothing: what is there is known by its id."""

    def take_back(self) -> None:
        """Walk again what the last backup named, should a later one name it."""
        self._needs.take_back()


class UnrelatedCarrier:
    """Between repositories that name chunks by different keys."""

    def __init__(self, origin: Origin, session: CopySession) -> None:
        self._translation = Translation(origin, session)
        self._learning = Learning(self._translation, origin, session.reader())

    @property
    def missing_bytes(self) -> int:
        """Return the content that the target lacked so far."""
        return self._translation.missing_bytes

    def carry(self, root: BackupRoot, raw: bytes) -> dict[int, object]:
        """Store everything under new ids; the root names those."""
        return self._translation.root(root, raw)

    def learn(self, original: BackupRoot, copy: BackupRoot) -> None:
        """Learn the new ids of what the earlier backup named."""
        self._learning.learn(original, copy)

    def take_back(self) -> None:
        """Do nothing: only what is stored with all below it was remembered."""


class _Indexed:
    def __init__(self, index: ChunkIndex) -> None:
        self._index = index

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        return self._index.present(chunk_id) is not None

    def fits(self, kind: ChunkKind, chunk_id: bytes, length: int) -> bool:
        return fits(self._index, kind, chunk_id, length)


class _Nothing:
    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        return False

    def fits(self, kind: ChunkKind, chunk_id: bytes, length: int) -> bool:
        return True


def missing_of(origin: Origin, needs: Needs, index: ChunkIndex | None) -> int:
    """Return how much content of what was walked last is not in `index`; all of it without one."""
    there: Presence = _Nothing() if index is None else _Indexed(index)
    return bytes_of(origin, lacking(origin, (needs.ordinals, needs.kinds), there))


def are_related(first: Repository, second: Repository) -> bool:
    """Tell whether both name chunks by the same keys: what one holds, the other recognises."""
    return _chunk_keys(first) == _chunk_keys(second)


def _chunk_keys(repository: Repository) -> set[tuple[int, bytes]]:
    return {(each.kind, each.key) for each in repository.keyring.record.chunk_id_keys if each.domain == 0}
