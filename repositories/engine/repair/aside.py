"""Setting bad objects aside: out of the way of every reader, and not lost.

Owns the prefix `aside/`. Nothing there is ever read again by a repository; a person may look into it, and removes it.
"""

import contextlib
from typing import Final

from repositories.engine.errors import ObjectExistsError, ObjectMissingError
from repositories.engine.storage.base import Storage

ASIDE: Final = "aside/"
_MOST_TIMES: Final = 100


def aside_name(name: str, number: int = 0) -> str:
    """Return the name under which an object is set aside, the `number`-th time that one of its name is."""
    return f"{ASIDE}{name}" if not number else f"{ASIDE}{name}.{number}"


def set_aside(storage: Storage, name: str) -> None:
    """Copy an object below `aside/`, then remove it. Killed in between, both are there, and the next try goes on.

    One that is gone already does not matter. Raises the storage's errors; then the object is where it was.
    """
    with contextlib.suppress(ObjectMissingError):
        data = storage.get(name)
        _keep(storage, name, data)
        storage.delete(name)


def _keep(storage: Storage, name: str, data: bytes) -> None:
    for number in range(_MOST_TIMES):
        target = aside_name(name, number)
        try:
            storage.put(target, data)
        except ObjectExistsError:
            if storage.get(target) != data:
                continue
        return
    raise ObjectExistsError(f"{ASIDE}{name} is there too often", hint=f"look into {ASIDE} and remove what is of no use")
