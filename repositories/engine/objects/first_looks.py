"""The looks that open a repository, taken at once: far away each of them would cost a round trip, one after the other.

Owns what was seen by them: a storage that answers from it, each look once. They were not taken in the order in which
openings rely on them, so what is opened by them is believed only where nothing was under way, and anything that fails
by them is to be done again without.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from repositories.engine.errors import EngineError, StorageUnreachableError
from repositories.engine.format.kinds import COPIES, DIRECTORIES, WRITTEN_TWICE, ObjectKind, is_name_of, most_bytes
from repositories.engine.objects.side_by_side import side_by_side
from repositories.engine.storage.base import Storage, StoredObject
from repositories.engine.storage.delegating import DelegatingStorage

_KINDS: Final = (ObjectKind.CONFIG, ObjectKind.INTENT, ObjectKind.KEYRING, ObjectKind.SLOT)
_MOST: Final = 16
"""Objects that are worth reading at once; of a repository whose keys were changed often only the newest are needed."""


class FirstLooks(DelegatingStorage):
    """Answers listings and reads of what opens a repository from what `are_taken` has seen, all else from `inner`."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self._listed: dict[str, tuple[StoredObject, ...]] = {}
        self._read: dict[tuple[str, int], bytes] = {}

    def are_taken(self) -> bool:
        """Look; return whether it may be believed: no rotation is decided and not done, and nothing failed.

        Raises StorageUnreachableError: who was asked again and again need not be asked in another order.
        """
        prefixes = [DIRECTORIES[kind] + "/" for kind in _KINDS]
        copies = [COPIES + DIRECTORIES[kind] + "/" for kind in _KINDS if kind in WRITTEN_TWICE]
        try:
            self._look(prefixes + copies)
        except StorageUnreachableError:
            raise
        except EngineError:
            return False
        return not self._listed[DIRECTORIES[ObjectKind.INTENT] + "/"]

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List."""
        found = self._listed.pop(prefix, None)
        return self.inner.list(prefix) if found is None else iter(found)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read."""
        found = None if offset or length is None else self._read.pop((name, length), None)
        return self.inner.get(name, offset, length) if found is None else found

    def _look(self, prefixes: Sequence[str]) -> None:
        at_once = self.inner.reads_at_once
        for prefix, found in zip(prefixes, side_by_side(self._whole, prefixes, at_once), strict=True):
            self._listed[prefix] = found
        wanted: list[tuple[str, int]] = []
        for kind in (ObjectKind.CONFIG, ObjectKind.KEYRING, ObjectKind.SLOT):
            names = sorted(each.name for each in self._listed[DIRECTORIES[kind] + "/"] if is_name_of(kind, each.name))
            wanted += [(name, most_bytes(kind) + 1) for name in names[-_MOST:]]
        data = side_by_side(lambda each: self.inner.get(each[0], 0, each[1]), wanted, at_once)
        self._read.update(zip(wanted, data, strict=True))

    def _whole(self, prefix: str) -> tuple[StoredObject, ...]:
        return tuple(self.inner.list(prefix))
