"""Setting bad objects aside: out of the way of every reader, and not lost; listing them, and removing them at last.

Owns the prefix `aside/`. Nothing there is ever read again by a repository; a person may look into it, and has it
removed by a command that does nothing else.
"""

import contextlib
import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from repositories.engine.backup.options import Hooks
from repositories.engine.errors import ObjectExistsError, ObjectMissingError, OperationCancelledError
from repositories.engine.repository import Repository
from repositories.engine.storage.base import Storage

ASIDE: Final = "aside/"
_MOST_TIMES: Final = 100
_STAMP: Final = re.compile(r"([0-9]{8}t[0-9]{6})z(?:\.[0-9]{1,2})?")
_FORM: Final = "%Y%m%dt%H%M%S"
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_SECOND: Final = dt.timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class AsideObject:
    """An object that lies aside: its name now and before, its bytes, and when it was moved (ns, None: nobody knows)."""

    name: str
    original: str
    size: int
    since_ns: int | None

    def is_from_before(self, before_ns: int) -> bool:
        """Tell whether it was moved before a time; one of unknown age was."""
        return self.since_ns is None or self.since_ns < before_ns


class Aside:
    """Sets objects aside, all of one repair at one time: `now_ns` of the machine that repairs, shown only."""

    def __init__(self, storage: Storage, now_ns: int) -> None:
        self._storage = storage
        moment = _EPOCH + dt.timedelta(microseconds=now_ns // 1000)
        self._stamp = f"{moment.strftime(_FORM)}z"

    def take(self, name: str) -> None:
        """Move an object below `aside/`. Killed in between, both may be there, and the next try goes on.

        One that is gone already does not matter. Raises the storage's errors; then the object is where it was.
        """
        with contextlib.suppress(ObjectMissingError):
            if self._lies_there(name):
                self._storage.delete(name)
            else:
                self._move(name)

    def _lies_there(self, name: str) -> bool:
        size = self._storage.size(name)
        known = [each for each in list_aside(self._storage) if each.original == name and each.size == size]
        if not known:
            return False
        data = self._storage.get(name)
        return any(self._storage.get(each.name) == data for each in known)

    def _move(self, name: str) -> None:
        for number in range(_MOST_TIMES):
            stamp = f"{self._stamp}.{number}" if number else self._stamp
            with contextlib.suppress(ObjectExistsError):
                self._storage.move(name, f"{ASIDE}{stamp}/{name}")
                return
        raise ObjectExistsError(f"{name} was set aside too often", hint="run repair --remove-aside")


def list_aside(storage: Storage) -> list[AsideObject]:
    """Return all that lies aside, the oldest first. Raises the storage's errors."""
    found = [_parsed(stored.name, stored.size) for stored in storage.list(ASIDE)]
    return sorted(found, key=lambda each: (each.since_ns or 0, each.name))


def remove_aside(repository: Repository, doomed: Sequence[AsideObject], hooks: Hooks) -> int:
    """Remove these objects for good; return how many were still there.

    Raises UnsupportedFormatError where this program must not write, OperationCancelledError, the storage's errors.
    """
    repository.require_writable()
    removed = 0
    for each in doomed:
        if hooks.cancelled():
            raise OperationCancelledError(
                f"cancelled; {removed:,} of {len(doomed):,} were removed", hint="run it again"
            )
        with contextlib.suppress(ObjectMissingError):
            repository.storage.delete(each.name)
            removed += 1
    return removed


def _parsed(name: str, size: int) -> AsideObject:
    stamp, _, original = name.removeprefix(ASIDE).partition("/")
    match = _STAMP.fullmatch(stamp)
    since = None if match is None else _moment_ns(match.group(1))
    # Earlier versions put no time before the name.
    return AsideObject(name, name.removeprefix(ASIDE) if since is None else original, size, since)


def _moment_ns(text: str) -> int | None:
    try:
        moment = dt.datetime.strptime(text, _FORM).replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // _SECOND * 1_000_000_000
