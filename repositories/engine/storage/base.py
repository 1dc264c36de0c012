"""The storage interface: named objects on a medium, put whole or not at all.

Owns the contract that every backend and wrapper keeps, and the validation of names. Knows nothing of what objects
hold. Errors are of the RepositoryError family only: a medium's fault is never mistaken for a source's.
"""

import abc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from repositories.engine.errors import ConfigurationError

_COMPONENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_MAX_NAME_LENGTH = 200


class StoredObject(msgspec.Struct, frozen=True):
    """An object as a listing shows it."""

    name: str
    size: int


class ObjectRange(msgspec.Struct, frozen=True):
    """A part of an object that will be read."""

    name: str
    offset: int
    length: int


def validate_name(name: str) -> str:
    """Return `name` if it is a plain relative name, else raise ConfigurationError: no way out of the repository."""
    if len(name) <= _MAX_NAME_LENGTH and all(_COMPONENT.fullmatch(part) for part in name.split("/")):
        return name
    raise ConfigurationError(f"{name!r} is no name of a repository object", hint="names are made by Syncova alone")


def validate_prefix(prefix: str) -> str:
    """Return `prefix` if it is empty or a directory (`a/`, `a/b/`), else raise ConfigurationError."""
    if prefix and not prefix.endswith("/"):
        raise ConfigurationError(f"{prefix!r} is no prefix: it must end with a slash", hint="list a whole directory")
    if prefix:
        validate_name(prefix[:-1])
    return prefix


class Storage(abc.ABC):
    """A medium. All methods may be called from any thread.

    put: the whole object or none becomes visible, and it is durable when put returns. list: shows each object whose
    put has returned. get: what a put that has returned has put. Fault classes: StorageFullError, StorageReadOnlyError,
    ObjectMissingError, ObjectExistsError, and for remote media StorageUnreachableError (trying again may help),
    StorageRefusedError, StoragePlaceMissingError; RepositoryError for the rest.
    """

    @abc.abstractmethod
    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store an object. Raises ObjectExistsError if there is one and `overwrite` (own leases only) is not set.

        Some media cannot refuse what is there (`refuses_existing`), or not two puts at one moment: names are random,
        nothing rests on it.
        """

    @abc.abstractmethod
    def put_file(self, name: str, path: str) -> None:
        """Store the content of the file `path`, same guarantees as put.

        The file belongs to the storage from then on: it may be moved into place, and its name is gone afterwards in any
        case but an error (fresh_files.remove_file: it may have none). It may be opened several times.
        """

    @abc.abstractmethod
    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return `length` bytes from `offset` (fewer at the end of the object). Raises ObjectMissingError."""

    @abc.abstractmethod
    def size(self, name: str) -> int:
        """Return the object's size in bytes. Raises ObjectMissingError."""

    @abc.abstractmethod
    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield all objects below a prefix that is empty or ends with a slash, in no order."""

    def sizes(self, prefix: str) -> Iterator[Mapping[str, int]]:
        """Yield what `list` does, in portions: sizes by the last parts of names, without a value for each object.

        Each portion is of one directory. For the million packs that each writing session looks for.
        """
        for each in self.list(prefix):
            yield {each.name.rpartition("/")[2]: each.size}

    @property
    def looks_are_cheap(self) -> bool:
        """Tell whether asking for `size` object by object takes hardly longer than `sizes` of all."""
        return False

    def list_all(self, prefixes: Sequence[str]) -> Iterator[StoredObject]:
        """Yield all objects below several prefixes, as `list` does; far away they are listed at once."""
        for prefix in prefixes:
            yield from self.list(prefix)

    @abc.abstractmethod
    def delete(self, name: str) -> None:
        """Remove an object. Raises ObjectMissingError where the medium tells that there is none."""

    def move(self, name: str, target: str) -> None:
        """Give an object another name. Raises ObjectMissingError; ObjectExistsError if there is one called `target`.

        A process that dies in the middle leaves it under both names, or (where a medium renames in one step, which
        needs no room either) under one of them.
        """
        self.put(target, self.get(name))
        self.delete(name)

    @property
    def refuses_existing(self) -> bool:
        """Tell whether a put under a name that is there is refused for sure."""
        return True

    @property
    def puts_at_once(self) -> int:
        """Return how many packs are worth putting at once."""
        return 1

    @property
    def reads_at_once(self) -> int:
        """Return how many reads are worth making at once; with more than 1, announcing them helps: `will_read`."""
        return 1

    def will_read(self, ranges: Iterable[ObjectRange]) -> None:
        """Take note that these ranges will be read soon, each exactly so. A hint: costs no errors, promises nothing."""
        del ranges

    def give_up_reading(self) -> None:
        """Forget all that `will_read` was told of; who waits for a part of it gets OperationCancelledError at once."""
        return

    @property
    def place(self) -> str:
        """Return where the medium is, as people are told it; empty where it has no name."""
        return ""

    def shown(self, name: str) -> str:
        """Return where the object or directory `name` is, as people are told it."""
        return f"{self.place}/{name}" if self.place else name

    def free_space(self) -> int | None:
        """Return the free bytes of the medium, or None where nobody knows."""
        return None

    def listing_delay(self) -> float:
        """Return for how many seconds another machine may see an older listing; 0 where it never does."""
        return 0.0

    def scratch_directory(self) -> str | None:
        """Return a directory on the medium for files handed to put_file, or None: any directory does."""
        return None

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make the medium ready to hold a new repository. Raises RepositoryExistsError if other things lie there."""
