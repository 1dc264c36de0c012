"""Storage on a WebDAV server.

Owns how the contract is kept there: content goes to a name below `tmp/` and gets its own by MOVE, since a PUT that is
cut off may leave half an object. Whether a MOVE is durable when it is answered is the server's affair.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from repositories.engine.errors import (
    ConfigurationError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    RepositoryExistsError,
)
from repositories.engine.storage.base import StoredObject, validate_name, validate_prefix
from repositories.engine.storage.credentials import PASSWORD, TOKEN, Credentials
from repositories.engine.storage.opendal_storage import OpenDalStorage
from repositories.engine.storage.remote import SCRATCH, Pace, belongs_to_creation, no_pace
from repositories.engine.storage.remote_locations import RemoteLocation
from repositories.engine.storage.walking import Listed, walk

_TOO_DEEP: Final = 200
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class WebDavStorage(OpenDalStorage):
    """Objects as resources below one collection."""

    def __init__(self, location: RemoteLocation, credentials: Credentials, pace: Pace = no_pace) -> None:
        """Connect to nothing yet. Raises ExtraMissingError."""
        options, lacks = _options(location, credentials), _lacking(location, credentials)
        super().__init__(location.text.rstrip("/"), pace, "webdav", options, lacks)

    def prepare(self) -> None:
        """Make the collection if it is missing; refuse one that holds anything but a creation that died."""
        # First: a listing tells best whether this is WebDAV at all.
        listed = self._scan("")
        with self._errors(""):
            self._operator.create_dir(SCRATCH)
        for name in (*listed.directories, *(each.name for each in listed.objects)):
            if not belongs_to_creation(name) and not self._is_empty(name):
                raise RepositoryExistsError(
                    f"{self.place} holds files already",
                    hint="choose a new or empty collection; an existing repository is used, not created again",
                )

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store an object."""
        content = bytes(data)
        self.pace(len(content))
        self._put(name, lambda scratch: self._write(scratch, content), overwrite=overwrite)

    def list_from(self, prefix: str, after: str) -> Iterator[StoredObject]:
        """Yield objects in text order, collection by collection."""
        return walk(validate_prefix(prefix), after, self._scan, self.reads_at_once)

    def delete(self, name: str) -> None:
        """Remove an object; whether one that is not there is told depends on the server."""
        validate_name(name)
        with self._errors(name):
            self._operator.delete(name)

    def move(self, name: str, target: str) -> None:
        """Rename an object in one step."""
        if self._is_there(target):
            raise ObjectExistsError(f"{target} is there already", hint="run check")
        validate_name(name)
        with self._errors(name):
            self._operator.rename(name, target)

    def _put_open_file(self, name: str, file: BinaryIO, size: int) -> None:
        def write(scratch: str) -> None:
            file.seek(0)
            self._write(scratch, self._paced(file))

        del size
        self._put(name, write, overwrite=False)

    def _paced(self, file: BinaryIO) -> bytes:
        """Return a file's content; the limit waits before it is sent."""
        content = file.read()
        self.pace(len(content))
        return content

    def _put(self, name: str, write: Callable[[str], None], *, overwrite: bool) -> None:
        validate_name(name)
        scratch = SCRATCH + secrets.token_hex(16)
        if not overwrite and self._is_there(name):
            raise ObjectExistsError(f"{name} is there already", hint="run check")
        with self._errors(name):
            write(scratch)
        try:
            with self._errors(name):
                self._operator.rename(scratch, name)
        except RepositoryError:
            with contextlib.suppress(RepositoryError), self._errors(name):
                self._operator.delete(scratch)
            raise

    def _scan(self, prefix: str) -> Listed:
        """Return what one collection holds; one that is not there holds nothing."""
        try:
            found = [entry for page in self._pages(prefix) for entry in page if entry.path not in (prefix, "/")]
        except ObjectMissingError:
            return Listed()
        directories = [entry.path for entry in found if entry.path.endswith("/") and len(entry.path) <= _TOO_DEEP]
        objects = [
            StoredObject(entry.path, entry.metadata.content_length) for entry in found if not entry.path.endswith("/")
        ]
        return Listed(tuple(each for each in directories if each != SCRATCH), tuple(objects))

    def _is_empty(self, name: str) -> bool:
        return name.endswith("/") and not any(True for _ in self.list_from(name, ""))


def _options(location: RemoteLocation, credentials: Credentials) -> dict[str, str]:
    scheme = "https" if location.scheme == "webdavs" else "http"
    if scheme == "http" and location.host not in _LOOPBACK:
        raise ConfigurationError(
            "webdav:// would send the password in clear over the network",
            hint="use webdavs://, or a tunnel to localhost",
        )
    port = f":{location.port}" if location.port is not None else ""
    options = {"endpoint": f"{scheme}://{location.host}{port}", "root": f"/{location.path}"}
    optional = {
        "username": location.user,
        "password": credentials.get(PASSWORD),
        "token": credentials.get(TOKEN),
    }
    return options | {name: value for name, value in optional.items() if value}


def _lacking(location: RemoteLocation, credentials: Credentials) -> str:
    """Return which credentials are not given: some servers ask for none."""
    if credentials.get(TOKEN):
        return ""
    if not credentials.get(PASSWORD):
        return "neither password nor token is given"
    return "" if location.user else "a password is given, but no user stands in the location"
