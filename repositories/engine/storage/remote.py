"""What backends of remote media share: the listing from a name on, and how an extra that is missing is told.

Owns nothing of any protocol. A remote backend's calls may fail with StorageUnreachableError, which says that trying
again may help; it never tries again itself (storage/retrying.py does).
"""

import abc
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType

from repositories.engine.errors import ExtraMissingError
from repositories.engine.storage.base import Storage, StoredObject

SCRATCH = "tmp/"
"""Where backends put what gets its name by renaming; no listing shows it."""
PUTS_AT_ONCE = 4
READS_AT_ONCE = 8
_LEFT_BY_CREATION = frozenset({"tmp", "slots", "keyrings", "copies", "lost+found"})

Pace = Callable[[int], None]
"""Is told of bytes before they are sent, and waits as long as a limit asks for."""


def no_pace(count: int) -> None:
    """Let everything through at once."""
    del count


class RemoteStorage(Storage):
    """A medium behind a network. Names are listed in text order, so that a broken listing can go on."""

    def __init__(self, place: str, pace: Pace) -> None:
        self._place = place
        self.pace = pace

    @property
    def place(self) -> str:
        """Return the location; nothing secret can stand in it."""
        return self._place

    @property
    def puts_at_once(self) -> int:
        """Return how many packs may be under way."""
        return PUTS_AT_ONCE

    @property
    def reads_at_once(self) -> int:
        """Return how many reads may be under way."""
        return READS_AT_ONCE

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield all objects below a prefix, in text order."""
        return self.list_from(prefix, "")

    @abc.abstractmethod
    def list_from(self, prefix: str, after: str) -> Iterator[StoredObject]:
        """Yield the objects below a prefix whose names come after `after`, in text order."""


def require(module: str, extra: str, scheme: str) -> ModuleType:
    """Return a module of an extra. Raises ExtraMissingError, which names the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ExtraMissingError(
            f"{scheme} locations need the extra {extra!r}, which is not installed",
            hint=f"install it with: ./syncova install {extra}",
        ) from None


def belongs_to_creation(name: str) -> bool:
    """Tell whether a creation that failed or died may have left this: what it puts before the config."""
    return name.partition("/")[0] in _LEFT_BY_CREATION
