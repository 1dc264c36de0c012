"""Locations: the text by which people name a medium.

Owns what a location is, for every program and the server alike. Offered is only what the storage contract suite runs
on: a directory. What other programs read as a place elsewhere is refused and never becomes a directory of that name;
a password inside a location is refused and not repeated, since locations are shown in listings and logs.
"""

import os
import re
from typing import TYPE_CHECKING

from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError, LocationNotAvailableError

if TYPE_CHECKING:
    from repositories.engine.storage.base import Storage

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,31}")
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
# So a path begins that can be nothing else.
_LOCAL = ("/", ".", "~")
_WINDOWS_SHARE = "\\\\"


def local_directory(location: str) -> str:
    r"""Return the directory that `location` names, absolute or relative, `~` spelled out. Touches no medium.

    Without one of `/`, `.`, `~` at its start, a location whose first part holds a colon names a place elsewhere
    (`s3:bucket`, `sftp://host`, `user@host:path`, `C:\path`), as does a Windows share. Raises
    LocationNotAvailableError, ConfigurationError (empty, or with a NUL).
    """
    if not location or "\0" in location:
        raise ConfigurationError("the repository's location is empty", hint="give a directory, such as /mnt/backups")
    elsewhere = ":" in location.partition("/")[0] or location.startswith(_WINDOWS_SHARE)
    if elsewhere and not location.startswith(_LOCAL):
        raise _not_available(location)
    # The path class raises where a ~name names nobody; here it is then a name like any other.
    return os.path.expanduser(location)


def open_storage(location: str) -> "Storage":
    """Return the storage that `location` names. Raises as `local_directory` does."""
    # Programs that only ask what a location is should not wait for it.
    from repositories.engine.storage.local import LocalStorage

    return LocalStorage(local_directory(location))


def directories_of(storage: "Storage") -> tuple[bytes, ...]:
    """Return the directories of this machine in which a storage keeps its objects."""
    # As above.
    from repositories.engine.storage.local import LocalStorage

    return (os.fsencode(storage.path),) if isinstance(storage, LocalStorage) else ()


def _not_available(location: str) -> LocationNotAvailableError:
    word, _, rest = location.partition(":")
    if _PASSWORD.match(rest.removeprefix("//")):
        return LocationNotAvailableError(
            "the location holds a password, and it is not a directory: only directories are available",
            hint="pass credentials by the environment or a file, never in a location",
        )
    hint = "name a directory, such as /mnt/backups"
    if "@" not in location and location.count(":") == 1 and not rest.startswith("//"):
        hint += f"; a directory of that very name is ./{show_text(location)}"
    return LocationNotAvailableError(
        f"locations of the form {_form(word, rest)} are not available: a repository lies in a directory", hint=hint
    )


def _form(word: str, rest: str) -> str:
    """Return how such a location is written, quoting nothing but a scheme."""
    if word.startswith(_WINDOWS_SHARE):
        return r"\\server\share"
    if "@" in word or not _SCHEME.fullmatch(word):
        return "user@host:path"
    if len(word) == 1:
        return rf"{word}:\path"
    return f"{word.lower()}://" if rest.startswith("//") else f"{word.lower()}:"
