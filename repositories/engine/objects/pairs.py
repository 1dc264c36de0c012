"""Objects that are written twice: put both or none, read from either, list the union.

Owns the second prefix. A put that is refused half-way takes back what it put: nothing stays visible then.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.kinds import (
    COPIES,
    DIRECTORIES,
    WRITTEN_TWICE,
    ObjectKind,
    is_name_of,
    most_bytes,
    names_of,
)
from repositories.engine.objects.answers import may_be_done
from repositories.engine.storage.base import Storage

_T = TypeVar("_T")


def put_all(
    storage: Storage,
    kind: ObjectKind,
    name: str,
    data: bytes,
    *,
    overwrite: bool = False,
    bury: Callable[[], object] | None = None,
) -> None:
    """Put an object under all its names. Raises the storage's error, with nothing of the object left if possible.

    Where the medium did not answer nothing is taken back: it may be there, or come yet, and others may rely on it. The
    lease of whoever put it stays then and explains what is half there. A copy that is there already, put by a prune for
    a process that it took for dead, is as good as one's own. Before a copy that somebody may have found is taken back
    `bury` says so on the medium; where that has no room for it, once more when it is gone.
    """
    done: list[str] = []
    try:
        for each in names_of(kind, name):
            _put(storage, each, data, overwrite=overwrite)
            done.append(each)
    except EngineError as error:
        if done and not may_be_done(error):
            _take_back(storage, done, bury)
        raise


def _take_back(storage: Storage, done: Sequence[str], bury: Callable[[], object] | None) -> None:
    buried = bury is None or _is_done(bury)
    for each in done:
        _is_done(lambda name=each: storage.delete(name))  # type: ignore[misc]
    if bury is not None and not buried:
        _is_done(bury)


def _is_done(change: Callable[[], object]) -> bool:
    with contextlib.suppress(RepositoryError):
        change()
        return True
    return False


def _put(storage: Storage, name: str, data: bytes, *, overwrite: bool) -> None:
    try:
        storage.put(name, data, overwrite=overwrite)
    except ObjectExistsError:
        if storage.get(name) != data:
            raise


def read_either(storage: Storage, kind: ObjectKind, name: str, parse: Callable[[bytes], _T]) -> _T:
    """Return `parse(bytes)` of the first copy that it accepts. Raises what the copies failed with, damage first.

    An error of damage names the object.
    """
    failure: EngineError | None = None
    for each in names_of(kind, name):
        try:
            return _parse_twice(storage, kind, each, parse)
        except (ObjectMissingError, IntegrityError, UnsupportedFormatError) as error:
            if failure is None or isinstance(failure, ObjectMissingError):
                failure = error
    if failure is None:
        raise IntegrityError(f"{name} has no place on the medium", hint="run check")
    if isinstance(failure, IntegrityError) and name not in failure.message:
        raise type(failure)(f"{name}: {failure.message}", hint=failure.hint) from failure
    raise failure


def _parse_twice(storage: Storage, kind: ObjectKind, name: str, parse: Callable[[bytes], _T]) -> _T:
    """Parse an object; what seems damaged is read once more, since the way here may have done it."""
    try:
        return parse(get_bounded(storage, kind, name))
    except RetiredKeyError:
        raise
    except IntegrityError:
        return parse(get_bounded(storage, kind, name))


def get_bounded(storage: Storage, kind: ObjectKind, name: str) -> bytes:
    """Return the bytes of an object that is no pack, at most as many as one of its kind can have.

    Raises ObjectMissingError, IntegrityError.
    """
    limit = most_bytes(kind)
    data = storage.get(name, 0, limit + 1)
    if len(data) > limit:
        raise IntegrityError(f"{name} is larger than any object of its kind", hint="run check")
    return data


def list_names(storage: Storage, kind: ObjectKind) -> Iterator[str]:
    """Yield the primary names of all objects of a kind that have at least one copy, in text order."""
    prefix = DIRECTORIES[kind] + "/"
    prefixes = [prefix, COPIES + prefix] if kind in WRITTEN_TWICE else [prefix]
    names = {stored.name.removeprefix(COPIES) for stored in storage.list_all(prefixes)}
    yield from (name for name in sorted(names) if is_name_of(kind, name))


def delete_all(storage: Storage, kind: ObjectKind, name: str) -> None:
    """Remove an object under all its names; names that are gone already do not matter."""
    for each in names_of(kind, name):
        with contextlib.suppress(ObjectMissingError):
            storage.delete(each)
