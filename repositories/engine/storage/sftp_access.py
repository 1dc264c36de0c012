"""Who we are to an SFTP server, and that it is the one we know: the private key's file and the file of known hosts.

Owns reading both, and saying which file is of no use and why. Shows neither what a file holds nor a library's text.
"""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from repositories.engine.errors import StorageRefusedError
from repositories.engine.storage.credentials import AGENT, KEY_FILE, KEY_PASSPHRASE, KNOWN_HOSTS, PASSWORD, Credentials
from repositories.engine.storage.remote_locations import RemoteLocation

if TYPE_CHECKING:
    from asyncssh import SSHKeyPair, SSHKnownHosts

PORT: Final = 22
_AGENT_SECONDS: Final = 10.0
_LONGEST_PATH: Final = 1024
_COMPARE: Final = "connect once with ssh and compare the key, or name a file with SYNCOVA_SFTP_KNOWN_HOSTS"
_SET_PASSPHRASE: Final = "set SYNCOVA_SFTP_KEY_PASSPHRASE or SYNCOVA_SFTP_KEY_PASSPHRASE_FILE, or use an ssh agent"  # noqa: S105


def own_keys(ssh: Any, given: Credentials, place: str) -> list["SSHKeyPair"]:
    """Return the private key that is named, none where none is; StorageRefusedError says why it is of no use."""
    path = given.get(KEY_FILE)
    if not path:
        return []
    if "\n" in path or "PRIVATE KEY" in path or len(path) > _LONGEST_PATH:
        # Not shown: it is the key itself.
        raise StorageRefusedError(
            f"{place}: SYNCOVA_SFTP_KEY is no path",
            hint="set it to the path of the private key's file; SYNCOVA_SFTP_KEY_FILE names a file with that path",
        )
    passphrase = given.get(KEY_PASSPHRASE) or None
    try:
        return list(ssh.load_keypairs([path], passphrase))
    except OSError as error:
        raise StorageRefusedError(
            f"{place}: the private key {path} cannot be read: {_reason(error)}",
            hint="SYNCOVA_SFTP_KEY is the path of the private key's file: check it, and who may read the file",
        ) from None
    # Its errors of keys are no errors of its own class; a file of anything may lead to others yet.
    except ValueError as error:
        raise _useless_key(str(error), path, place, has_passphrase=passphrase is not None) from None


def _useless_key(text: str, path: str, place: str, *, has_passphrase: bool) -> StorageRefusedError:
    if "requires bcrypt" in text:
        return StorageRefusedError(
            f"{place}: the private key {path} has a passphrase, and bcrypt, which it needs, is not installed",
            hint="install it with: ./syncova install sftp",
        )
    if not has_passphrase and text.startswith("Passphrase must"):
        return StorageRefusedError(
            f"{place}: the private key {path} has a passphrase, and none is given", hint=_SET_PASSPHRASE
        )
    if has_passphrase and _is_encrypted(path):
        return StorageRefusedError(
            f"{place}: the passphrase does not open the private key {path}", hint=f"{_SET_PASSPHRASE}, to the right one"
        )
    return StorageRefusedError(
        f"{place}: {path} is no private key that can be used",
        hint="name the private key's file with SYNCOVA_SFTP_KEY (not the .pub), as ssh-keygen writes it",
    )


def _is_encrypted(path: str) -> bool:
    """Tell whether a passphrase can have been the reason: what is no key at all is not opened by any."""
    try:
        return b"PRIVATE KEY-----" in Path(path).expanduser().read_bytes()
    except OSError:
        return False


def known_hosts(ssh: Any, given: Credentials, place: str) -> "SSHKnownHosts":
    """Return the keys of servers that are known; StorageRefusedError names the file that cannot be read."""
    path = given.get(KNOWN_HOSTS)
    try:
        found: SSHKnownHosts = ssh.read_known_hosts(path)
    except OSError as error:
        reason = _reason(error)
    # A line that is none, or bytes that are no text.
    except ValueError:
        reason = "it is no file of known hosts"
    else:
        return found
    raise StorageRefusedError(f"{place}: the server's key is not known here: {path}: {reason}", hint=_COMPARE)


def untrusted(
    known: "SSHKnownHosts | None", given: Credentials, location: RemoteLocation, place: str, reason: str
) -> StorageRefusedError:
    """Return the error for a server whose key is not among the known ones; `reason` is the library's."""
    path = given.get(KNOWN_HOSTS)
    if "revoked" in reason:
        return StorageRefusedError(
            f"{place}: the server shows a key that {path} calls revoked", hint="ask who keeps the server for its key"
        )
    if known is not None and _knows(known, location):
        return StorageRefusedError(
            f"{place}: the server shows another key than {path} has: an attack, or it was set up anew",
            hint=f"compare the key with the server's own; if it is right, remove the old line from {path} and connect "
            "once with ssh",
        )
    return StorageRefusedError(f"{place}: the server's key is not known here: it is not in {path}", hint=_COMPARE)


def _knows(known: "SSHKnownHosts", location: RemoteLocation) -> bool:
    port = location.port if location.port not in (None, PORT) else None
    return any(known.match(location.host.strip("[]"), "", port)[:2])


async def not_accepted(ssh: Any, given: Credentials, place: str) -> StorageRefusedError:
    """Return the error for a server that does not let us in; an agent that was all we had is asked what it holds."""
    if not any(given.get(name) for name in (KEY_FILE, PASSWORD, AGENT)):
        return StorageRefusedError(
            f"{place}: the server asks for credentials, and neither key nor password is given",
            hint="set SYNCOVA_SFTP_KEY, or SYNCOVA_SFTP_PASSWORD or SYNCOVA_SFTP_PASSWORD_FILE, or use an ssh agent: "
            "see docs/storage.md",
        )
    if not given.get(KEY_FILE) and not given.get(PASSWORD) and (lack := await _lack_of(ssh, given.get(AGENT))):
        return StorageRefusedError(
            f"{place}: the server asks for credentials, and the ssh agent {lack}",
            hint="give it a key with ssh-add, or set SYNCOVA_SFTP_KEY to the path of a private key's file: see "
            "docs/storage.md",
        )
    return StorageRefusedError(
        f"{place}: the server does not accept the credentials",
        hint="check user, key and password; docs/storage.md names the settings",
    )


async def _lack_of(ssh: Any, path: str) -> str:
    """Return why an agent is of no use, empty if it holds keys."""
    try:
        async with await ssh.connect_agent(path) as agent:
            keys = await asyncio.wait_for(agent.get_keys(), _AGENT_SECONDS)
    except (OSError, ValueError, ssh.Error) as error:
        reason = _reason(error) if isinstance(error, OSError) and error.errno else "no answer"
        return f"cannot be asked for keys: {path}: {reason}"
    return "" if keys else f"holds no key: {path}"


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else "it is no file"
