"""Locations: the text by which people name a medium.

Owns parsing locations. Offered is only what the storage contract suite runs on; a password inside a location is
refused, since locations are shown in listings and logs.
"""

import os
import re

from repositories.engine.errors import ConfigurationError
from repositories.engine.storage.base import Storage
from repositories.engine.storage.local import LocalStorage

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://(.*)", re.DOTALL)
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")


def directories_of(storage: Storage) -> tuple[bytes, ...]:
    """Return the directories of this machine in which a storage keeps its objects."""
    return (os.fsencode(storage.path),) if isinstance(storage, LocalStorage) else ()


def open_storage(location: str) -> Storage:
    """Return the storage that `location` names: `/path`, or a relative path. Raises ConfigurationError."""
    if not location or "\0" in location:
        raise ConfigurationError("the repository's location is empty", hint="give a directory, such as /mnt/backups")
    scheme = _SCHEME.match(location)
    if scheme is None:
        return LocalStorage(os.path.expanduser(location))
    if _PASSWORD.match(scheme.group(2)):
        raise ConfigurationError(
            "the location holds a password", hint="pass credentials by the environment or a file, never in a location"
        )
    raise ConfigurationError(
        f"locations that begin with {scheme.group(1).lower()}:// are not supported yet", hint="use a directory"
    )
