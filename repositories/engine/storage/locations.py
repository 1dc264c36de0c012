"""Locations: the text by which people name a medium.

Owns what a location is, for every program and the server alike. Offered is only what the storage contract suite runs
on: a directory, S3, SFTP, WebDAV. What other programs read as a place elsewhere is refused and never becomes a
directory of that name; a password inside a location is refused and not repeated, since locations are shown in listings
and logs.
"""

import os
import re
from typing import TYPE_CHECKING

from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError, LocationNotAvailableError
from repositories.engine.storage.credentials import NO_CREDENTIALS, Credentials
from repositories.engine.storage.remote_locations import RemoteLocation, is_remote, parse_remote

if TYPE_CHECKING:
    from repositories.engine.storage.base import Storage
    from repositories.engine.storage.outages import Tell
    from repositories.engine.storage.remote import Pace, RemoteStorage

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,31}")
_PASSWORD = re.compile(r"[^/@]*:[^/@]*@")
# So a path begins that can be nothing else.
_LOCAL = ("/", ".", "~")
_WINDOWS_SHARE = "\\\\"
_OFFERED = "or s3://BUCKET/PREFIX, sftp://USER@HOST/PATH, webdavs://HOST/PATH"


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


def parse_location(location: str) -> str | RemoteLocation:
    """Return the directory or the remote place that `location` names. Touches no medium.

    Raises as `local_directory` does, and ConfigurationError for a remote location that cannot be one.
    """
    if is_remote(location):
        return parse_remote(location)
    try:
        return local_directory(location)
    except LocationNotAvailableError as error:
        raise type(error)(error.message, hint=f"{error.hint}; {_OFFERED}") from None


def open_storage(
    location: str,
    credentials: Credentials = NO_CREDENTIALS,
    pace: "Pace | None" = None,
    tell: "Tell | None" = None,
) -> "Storage":
    """Return the storage that `location` names; a remote one tries again by itself and reads ahead.

    `pace` limits what is sent to a remote one; `tell` takes a line when it does not answer. Raises as `parse_location`
    does, ExtraMissingError, StorageRefusedError where credentials are missing.
    """
    place = parse_location(location)
    # Programs that only ask what a location is should not wait for it.
    if isinstance(place, str):
        from repositories.engine.storage.local import LocalStorage

        return LocalStorage(place)
    from repositories.engine.clock import SYSTEM_CLOCK
    from repositories.engine.storage.outages import Notices
    from repositories.engine.storage.readahead import ReadAheadStorage
    from repositories.engine.storage.remote import no_pace
    from repositories.engine.storage.retrying import RetryingStorage

    notices = None if tell is None else Notices(tell, SYSTEM_CLOCK.monotonic)
    return ReadAheadStorage(RetryingStorage(open_backend(place, credentials, pace or no_pace), notices=notices))


def open_backend(place: RemoteLocation, credentials: Credentials, pace: "Pace") -> "RemoteStorage":
    """Return the bare backend of a remote place. Raises ExtraMissingError, StorageRefusedError."""
    # Each of them brings a library that others need not have.
    if place.scheme == "s3":
        from repositories.engine.storage.s3 import S3Storage

        return S3Storage(place, credentials, pace)
    if place.scheme == "sftp":
        from repositories.engine.storage.sftp import SftpStorage

        return SftpStorage(place, credentials, pace)
    from repositories.engine.storage.webdav import WebDavStorage

    return WebDavStorage(place, credentials, pace)


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
