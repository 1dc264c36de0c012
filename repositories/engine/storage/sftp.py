"""Storage on an SFTP server, by AsyncSSH.

Owns how the contract is kept there: content goes to a name below `tmp/`, is synced where the server can, and gets its
name by a rename, which is atomic. Directories cannot be synced over SFTP: after a power cut of the server its file
system decides whether the last renames are there. Never tries again.
"""

import asyncio
import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from repositories.engine.errors import ObjectExistsError, ObjectMissingError, RepositoryError, RepositoryExistsError
from repositories.engine.fresh_files import remove_file
from repositories.engine.limits import MIB
from repositories.engine.storage.base import StoredObject, validate_name, validate_prefix
from repositories.engine.storage.credentials import Credentials
from repositories.engine.storage.medium import no_file
from repositories.engine.storage.remote import (
    SCRATCH,
    Pace,
    RemoteStorage,
    belongs_to_creation,
    no_pace,
    require,
)
from repositories.engine.storage.remote_locations import RemoteLocation
from repositories.engine.storage.sftp_connection import CHANNELS, SftpConnection, ignore_unsupported
from repositories.engine.storage.walking import Listed, walk

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SFTPClientFile, SFTPName

_PIECE: Final = 4 * MIB
_PRIVATE: Final = 0o700
_OBJECT: Final = 0o400
_TOO_DEEP: Final = 200

Fill = Callable[["SFTPClientFile"], Coroutine[Any, Any, None]]


class SftpStorage(RemoteStorage):
    """Objects as files below one directory of a server. Thread safe: all goes through one loop."""

    def __init__(self, location: RemoteLocation, credentials: Credentials, pace: Pace = no_pace) -> None:
        """Connect to nothing yet. Raises ExtraMissingError."""
        super().__init__(location.text, pace)
        self._ssh = require("asyncssh", "sftp", "sftp")
        self._root = location.path.removeprefix("~/") if location.path.startswith("~/") else f"/{location.path}"
        self._connection = SftpConnection(location, credentials, self.place)

    @property
    def puts_at_once(self) -> int:
        """Return how many packs may be under way: each on a channel, whose window bounds what it carries."""
        return CHANNELS

    def prepare(self) -> None:
        """Make the directory (0700) if it is missing; refuse one that holds anything but a creation that died."""
        self._connection.run("", lambda sftp: sftp.makedirs(self._root, self._attrs(_PRIVATE), exist_ok=True))
        listed = self._scan("")
        for name in (*listed.directories, *(each.name for each in listed.objects)):
            if not belongs_to_creation(name) and not self._is_empty(name):
                raise RepositoryExistsError(
                    f"{self.place} holds files already",
                    hint="choose a new or empty directory; an existing repository is used, not created again",
                )

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store an object."""
        content = bytes(data)

        async def fill(file: "SFTPClientFile") -> None:
            await file.write(content, 0)

        self.pace(len(content))
        self._put(name, fill, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        """Store a file's content and remove it."""
        with open(path, "rb") as file:
            self._put(name, lambda target: self._copy(file, target), overwrite=False)
        remove_file(path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a part of an object."""
        path = self._full(validate_name(name))

        async def read(sftp: "SFTPClient") -> bytes:
            file = await sftp.open(path, "rb")
            try:
                data: bytes = await file.read(-1 if length is None else length, offset)
            finally:
                await file.close()
            return data

        return self._connection.run(name, read)

    def size(self, name: str) -> int:
        """Return the object's size."""
        path = self._full(validate_name(name))
        found = self._connection.run(name, lambda sftp: sftp.lstat(path))
        if found.permissions is not None and not stat.S_ISREG(found.permissions):
            raise no_file(name, found.permissions)
        return found.size or 0

    def list_from(self, prefix: str, after: str) -> Iterator[StoredObject]:
        """Yield the regular files below `prefix` in text order."""
        return walk(validate_prefix(prefix), after, self._scan, self.reads_at_once)

    def delete(self, name: str) -> None:
        """Remove an object. Raises ObjectMissingError."""
        path = self._full(validate_name(name))
        self._connection.run(name, lambda sftp: sftp.remove(path))

    def move(self, name: str, target: str) -> None:
        """Rename an object in one step."""
        path, new = self._full(validate_name(name)), self._full(validate_name(target))

        async def work(sftp: "SFTPClient") -> None:
            # Some servers overwrite.
            if await sftp.lexists(new):
                raise ObjectExistsError(f"{target} is there already", hint="run check")
            await self._rename(sftp, path, new, overwrite=False)

        self._connection.run(name, work)

    def free_space(self) -> int | None:
        """Return the bytes that may still be written, where the server tells."""
        try:
            found = self._connection.run("", lambda sftp: sftp.statvfs(self._root))
        except RepositoryError:
            return None
        return found.bavail * found.frsize

    def _put(self, name: str, fill: Fill, *, overwrite: bool) -> None:
        path = self._full(validate_name(name))
        scratch = self._full(SCRATCH + secrets.token_hex(16))

        async def work(sftp: "SFTPClient") -> None:
            there = asyncio.ensure_future(sftp.lexists(path)) if not overwrite else None
            try:
                await self._write(sftp, scratch, fill)
                if there is not None and await there:
                    raise ObjectExistsError(f"{name} is there already", hint="run check")
                await self._rename(sftp, scratch, path, overwrite=overwrite)
            except BaseException:
                if there is not None:
                    there.cancel()
                with contextlib.suppress(OSError, self._ssh.Error):
                    await sftp.remove(scratch)
                raise

        self._connection.run(name, work)

    async def _write(self, sftp: "SFTPClient", scratch: str, fill: Fill) -> None:
        try:
            file = await sftp.open(scratch, "xb", self._attrs(_OBJECT))
        except self._ssh.SFTPNoSuchFile:
            await self._make_parents(sftp, scratch)
            file = await sftp.open(scratch, "xb", self._attrs(_OBJECT))
        async with file:
            await fill(file)
            await ignore_unsupported(self._ssh, file.fsync())

    async def _rename(self, sftp: "SFTPClient", scratch: str, path: str, *, overwrite: bool) -> None:
        rename = sftp.posix_rename if overwrite else sftp.rename
        try:
            await rename(scratch, path)
        except self._ssh.SFTPNoSuchFile:
            await self._make_parents(sftp, path)
            await rename(scratch, path)
        except self._ssh.SFTPFailure:
            if overwrite or not await sftp.lexists(path):
                raise
            # Servers have no other word for it.
            raise ObjectExistsError(f"{os.path.basename(path)} is there already", hint="run check") from None

    async def _make_parents(self, sftp: "SFTPClient", path: str) -> None:
        # The repository's own directory is made by creation alone: a share that is not mounted must not be filled.
        await sftp.stat(self._root)
        await sftp.makedirs(os.path.dirname(path), self._attrs(_PRIVATE), exist_ok=True)

    async def _copy(self, file: BinaryIO, target: "SFTPClientFile") -> None:
        position = 0
        while piece := file.read(_PIECE):
            if self.pace is not no_pace:
                with self._connection.holds.holding():
                    await asyncio.to_thread(self.pace, len(piece))
            await target.write(piece, position)
            position += len(piece)

    def _scan(self, prefix: str) -> Listed:
        """Return what one directory holds; one that is not there holds nothing."""
        try:
            names = self._connection.run(prefix, lambda sftp: sftp.readdir(self._full(prefix)))
        except ObjectMissingError:
            return Listed()
        found = [(prefix + str(each.filename), each) for each in names if each.filename not in (".", "..")]
        directories = [f"{name}/" for name, each in found if _is_kind(each, stat.S_ISDIR) and len(name) < _TOO_DEEP]
        objects = [StoredObject(name, each.attrs.size or 0) for name, each in found if _is_kind(each, stat.S_ISREG)]
        return Listed(tuple(each for each in directories if each != SCRATCH), tuple(objects))

    def _is_empty(self, name: str) -> bool:
        return name.endswith("/") and not any(True for _ in self.list_from(name, ""))

    def _full(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def _attrs(self, mode: int) -> Any:
        return self._ssh.SFTPAttrs(permissions=mode)


def _is_kind(entry: "SFTPName", test: Callable[[int], bool]) -> bool:
    mode = entry.attrs.permissions
    return mode is not None and test(mode)
