"""What real backups, prunes and rotations do to their medium: puts, lists and deletions by kind, in order."""

from collections.abc import Iterable, Iterator

from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.memory import MemoryStorage

_LOOK_AT_KEYS = ["list keychanges", "list intents", "list keyrings"]


class RecordingStorage(MemoryStorage):
    """Takes note of every put, list, look for a size and deletion; of reads of known objects it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put."""
        self._tell("put", name)
        super().put(name, data, overwrite=overwrite)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List."""
        self._tell("list", prefix)
        return super().list(prefix)

    def size(self, name: str) -> int:
        """Return the size."""
        self._tell("size", name)
        return super().size(name)

    def delete(self, name: str) -> None:
        """Remove."""
        self._tell("delete", name)
        super().delete(name)

    def _tell(self, what: str, name: str) -> None:
        kind = name.removeprefix("copies/").split("/")[0]
        self.told.append(f"{what} {kind}")


def in_short(operations: Iterable[str], silent: Iterable[str] = ()) -> list[str]:
    """Return operations with a look at the keys as one, repeated ones once, and without the `silent` ones.

    An object that is written twice is put twice in a row, and listed in two places.
    """
    once: list[str] = []
    for each in operations:
        if not once or once[-1] != each:
            once.append(each)
    looked = _join_looks(once)
    left = [each for each in looked if each not in set(silent)]
    return [each for at, each in enumerate(left) if at == 0 or left[at - 1] != each]


def _join_looks(operations: list[str]) -> list[str]:
    joined: list[str] = []
    at = 0
    while at < len(operations):
        is_look = operations[at : at + 3] == _LOOK_AT_KEYS
        joined.append("look at the keys" if is_look else operations[at])
        at += 3 if is_look else 1
    return joined


def writes(operations: Iterable[str]) -> list[str]:
    """Return puts and deletions alone."""
    return [each for each in in_short(operations) if each.startswith(("put ", "delete "))]
