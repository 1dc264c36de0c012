"""One SSH connection with several SFTP channels, made when it is first needed and again after it was lost.

Owns that it is made with our settings alone: an unknown host key is refused, and no configuration of the user's ssh is
read. All but the constructor runs in the loop.
"""

import asyncio
import contextlib
import itertools
import logging
import math
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from repositories.engine.errors import (
    ObjectMissingError,
    RepositoryError,
    StorageFullError,
    StorageReadOnlyError,
    StorageUnreachableError,
)
from repositories.engine.storage.credentials import AGENT, PASSWORD, Credentials
from repositories.engine.storage.loops import BackgroundLoop
from repositories.engine.storage.moving import Holds, while_moving
from repositories.engine.storage.outages import TIMED_OUT, cause_in, hint_for
from repositories.engine.storage.remote import require
from repositories.engine.storage.remote_locations import RemoteLocation
from repositories.engine.storage.sftp_access import PORT, known_hosts, not_accepted, own_keys, untrusted

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SSHClientConnection, SSHKnownHosts

CHANNELS: Final = 8
_CONNECT_SECONDS: Final = 30.0
_ALIVE_SECONDS: Final = 15.0
_ALIVE_TRIES: Final = 4
# Fast in the one thread that the library has; all others that it knows follow.
_CIPHERS: Final = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr")
# After the kinds that are known of the server: one that has none of them would hang up, where its key tells more.
_OTHER_HOST_KEYS: Final = "+ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,rsa-sha2-512,rsa-sha2-256"
_LOOP: Final = BackgroundLoop("syncova-sftp")
_T = TypeVar("_T")

Work = Callable[["SFTPClient"], Coroutine[Any, Any, _T]]


class SftpConnection:
    """Runs work on a channel. `run` may be called from any number of threads.

    Work notes in `holds` what keeps it from sending.
    """

    def __init__(self, location: RemoteLocation, credentials: Credentials, place: str) -> None:
        """Connect to nothing yet. Raises ExtraMissingError."""
        self._ssh = require("asyncssh", "sftp", "sftp")
        # It tells of every channel otherwise.
        self._ssh.set_log_level(logging.ERROR)
        self._location = location
        self._credentials = credentials
        self._place = place
        self._known: SSHKnownHosts | None = None
        self._connecting = asyncio.Lock()
        self._connection: SSHClientConnection | None = None
        self._channels: list[SFTPClient] = []
        self._turn = itertools.count()
        self.holds = Holds()

    def run(self, name: str, work: Work[_T]) -> _T:
        """Return what `work` returns on one of the channels; raise the storage's errors about the object `name`."""
        try:
            return _LOOP.run(while_moving(self._on_channel(work), longest=math.inf, holds=self.holds))
        except (TimeoutError, OSError, self._ssh.Error) as error:
            # Without the cause: a traceback that is printed would show what the server sent.
            raise self._translated(error, name) from None

    async def _on_channel(self, work: Work[_T]) -> _T:
        channel = await self._channel()
        try:
            return await work(channel)
        except (self._ssh.SFTPConnectionLost, self._ssh.SFTPNoConnection, self._ssh.DisconnectError):
            await self._drop()
            raise

    async def _channel(self) -> "SFTPClient":
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                await self._drop()
                self._connection = await self._connect()
            number = next(self._turn) % CHANNELS
            if number >= len(self._channels):
                self._channels.append(await self._connection.start_sftp_client())
                number = len(self._channels) - 1
            return self._channels[number]

    async def _drop(self) -> None:
        connection, self._connection, self._channels = self._connection, None, []
        if connection is not None:
            connection.abort()

    async def _connect(self) -> "SSHClientConnection":
        try:
            return await self._connect_as_told()
        except self._ssh.PermissionDenied:
            raise await not_accepted(self._ssh, self._credentials, self._place) from None

    async def _connect_as_told(self) -> "SSHClientConnection":
        location, given = self._location, self._credentials
        self._known = await asyncio.to_thread(known_hosts, self._ssh, given, self._place)
        keys = await asyncio.to_thread(own_keys, self._ssh, given, self._place)
        connected: SSHClientConnection = await self._ssh.connect(
            location.host.strip("[]"),
            location.port or PORT,
            config=None,
            username=location.user,
            password=given.get(PASSWORD) or None,
            client_keys=keys,
            agent_path=given.get(AGENT) or None,
            known_hosts=self._known,
            server_host_key_algs=_OTHER_HOST_KEYS,
            encryption_algs=_CIPHERS,
            compression_algs=None,
            connect_timeout=_CONNECT_SECONDS,
            login_timeout=_CONNECT_SECONDS,
            keepalive_interval=_ALIVE_SECONDS,
            keepalive_count_max=_ALIVE_TRIES,
        )
        return connected

    def _translated(self, error: Exception, name: str) -> RepositoryError:
        ssh = self._ssh
        shown = f"{self._place}/{name}" if name else self._place
        if isinstance(error, ssh.SFTPError):
            return self._of_server(error, name, shown)
        if isinstance(error, ssh.HostKeyNotVerifiable):
            return untrusted(self._known, self._credentials, self._location, self._place, str(error))
        if isinstance(error, ssh.KeyExchangeFailed | ssh.ProtocolNotSupported | ssh.ProtocolError):
            return RepositoryError(f"{shown}: no common way to talk to the server", hint="check host, port and user")
        cause = TIMED_OUT if isinstance(error, TimeoutError) else cause_in(str(error))
        return StorageUnreachableError(
            f"{self._place}: {cause or 'the server did not answer, or the connection broke off'}", hint=hint_for(cause)
        )

    def _of_server(self, error: Exception, name: str, shown: str) -> RepositoryError:
        ssh = self._ssh
        if isinstance(error, ssh.SFTPNoSuchFile | ssh.SFTPNoSuchPath):
            return ObjectMissingError(f"{name or shown} is not in the repository", hint="run check")
        if isinstance(error, ssh.SFTPNoSpaceOnFilesystem | ssh.SFTPQuotaExceeded):
            return StorageFullError(f"{shown} could not be written: no room is left", hint="make room, then run again")
        if isinstance(error, ssh.SFTPPermissionDenied | ssh.SFTPWriteProtect):
            return StorageReadOnlyError(
                f"{shown}: the server refuses this", hint="check the owner and mode of the repository's directory"
            )
        if isinstance(error, ssh.SFTPConnectionLost | ssh.SFTPNoConnection):
            return StorageUnreachableError(
                f"{self._place}: the connection broke off", hint="check the network and the server, then run again"
            )
        # Many servers have no other word for a medium without room.
        return RepositoryError(
            f"{shown}: the server says that this failed",
            hint="check the room on the server's medium, then the server's log",
        )


async def ignore_unsupported(ssh: Any, work: Coroutine[Any, Any, None]) -> None:
    """Await what a server may not know."""
    with contextlib.suppress(ssh.SFTPOpUnsupported):
        await work
