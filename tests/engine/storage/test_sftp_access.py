"""Private keys and known hosts of SFTP: what opens the server, and which file is named, with its reason, if none does.

Keys are made by ssh-keygen as users make them; the servers are real. Everything here is told at once: one try.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncssh
import pytest

from repositories.engine.errors import StorageRefusedError
from repositories.engine.storage.base import Storage
from repositories.engine.storage.credentials import (
    AGENT,
    KEY_FILE,
    KEY_PASSPHRASE,
    KNOWN_HOSTS,
    PASSWORD,
    Credentials,
)
from repositories.engine.storage.locations import open_backend
from repositories.engine.storage.remote import no_pace
from repositories.engine.storage.remote_locations import parse_remote
from repositories.engine.storage.retrying import RetryingStorage, RetryPolicy
from tests import canaries
from tests.engine.storage.servers import Server

ServerOf = Callable[[str], Server]
PASSPHRASE = canaries.credential("passphrase")


def make_key(path: Path, passphrase: str = PASSPHRASE, kind: str = "ed25519") -> str:
    """Make a pair as a user does; return the public part."""
    made = shutil.which("ssh-keygen")
    if made is not None:
        subprocess.run([made, "-q", "-t", kind, "-N", passphrase, "-f", str(path)], check=True)
        return Path(f"{path}.pub").read_text()
    key = asyncssh.generate_private_key({"ed25519": "ssh-ed25519", "ecdsa": "ecdsa-sha2-nistp256"}[kind])
    key.write_private_key(str(path), passphrase=passphrase or None)
    key.write_public_key(f"{path}.pub")
    return Path(f"{path}.pub").read_text()


def storage_of(server: Server, **given: str) -> Storage:
    """Return a repository's storage with other credentials; one that is tried again fails by its clock."""

    def never(seconds: float) -> None:
        raise AssertionError(f"this cannot pass, and is waited for {seconds} s")

    credentials = Credentials({**server.credentials.values, **given})
    backend = open_backend(parse_remote(server.location("access")), credentials, no_pace)
    return RetryingStorage(backend, RetryPolicy(sleep=never))


def refused(storage: Storage) -> StorageRefusedError:
    with pytest.raises(StorageRefusedError) as caught:
        storage.get("marks/a")
    assert caught.value.hint
    assert PASSPHRASE not in caught.value.message + caught.value.hint
    return caught.value


def test_a_key_with_a_passphrase_opens_the_server(server_of: ServerOf, tmp_path: Path) -> None:
    server, key = server_of("openssh"), tmp_path / "key"
    with (server.directory.parent / "authorized").open("a") as authorized:
        authorized.write(make_key(key))
    storage = storage_of(server, **{KEY_FILE: str(key), KEY_PASSPHRASE: PASSPHRASE})
    storage.prepare()
    storage.put("marks/a", b"1")
    assert storage.get("marks/a") == b"1"


@pytest.mark.parametrize("form", ["openssh", "pkcs1-pem", "pkcs8-pem"])
@pytest.mark.parametrize(("passphrase", "reason"), [("", "and none is given"), ("other", "does not open the private")])
def test_a_passphrase_that_is_missing_or_wrong(
    form: str, passphrase: str, reason: str, server_of: ServerOf, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    asyncssh.generate_private_key("ecdsa-sha2-nistp256").write_private_key(str(key), form, PASSPHRASE)
    error = refused(storage_of(server_of("sftp"), **{KEY_FILE: str(key), KEY_PASSPHRASE: passphrase}))
    assert reason in error.message
    assert str(key) in error.message
    assert "SYNCOVA_SFTP_KEY_PASSPHRASE" in error.hint


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
@pytest.mark.parametrize("content", [b"", b"hello\n", b"ssh-ed25519 AAAA me\n", b"\x00\xff\x30\x82" * 20])
def test_what_is_no_key(content: bytes, passphrase: str, server_of: ServerOf, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(content)
    error = refused(storage_of(server_of("sftp"), **{KEY_FILE: str(key), KEY_PASSPHRASE: passphrase}))
    assert f"{key} is no private key" in error.message
    assert "SYNCOVA_SFTP_KEY" in error.hint


def test_a_key_s_file_that_cannot_be_read(server_of: ServerOf, tmp_path: Path) -> None:
    """It was told as a fault of the network, after eight tries."""
    for path, reason in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        error = refused(storage_of(server_of("sftp"), **{KEY_FILE: str(path)}))
        assert f"the private key {path} cannot be read: {reason}" in error.message
        assert "SYNCOVA_SFTP_KEY" in error.hint


def test_a_key_in_the_place_of_its_path_is_not_shown(server_of: ServerOf, tmp_path: Path) -> None:
    make_key(tmp_path / "key", "")
    text = (tmp_path / "key").read_text()
    error = refused(storage_of(server_of("sftp"), **{KEY_FILE: text}))
    assert "SYNCOVA_SFTP_KEY is no path" in error.message
    assert not [line for line in text.splitlines() if line in error.message + error.hint]


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_a_changed_host_key_is_told_from_one_that_is_not_known(kind: str, server_of: ServerOf, tmp_path: Path) -> None:
    """Also where another kind of key is known: asked for that alone, the server would hang up."""
    server, known = server_of("sftp"), tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} {make_key(tmp_path / 'other', '', kind)}")
    error = refused(storage_of(server, **{KNOWN_HOSTS: str(known)}))
    assert f"the server shows another key than {known} has: an attack, or it was set up anew" in error.message
    assert f"remove the old line from {known}" in error.hint
    right = Path(server.credentials.get(KNOWN_HOSTS)).read_text()
    known.write_text(f"{right}@revoked {right}")
    assert f"a key that {known} calls revoked" in refused(storage_of(server, **{KNOWN_HOSTS: str(known)})).message
    known.write_text(f"elsewhere {(tmp_path / 'other.pub').read_text()}")
    error = refused(storage_of(server, **{KNOWN_HOSTS: str(known)}))
    assert f"the server's key is not known here: it is not in {known}" in error.message


def test_known_hosts_that_cannot_be_read_are_named(server_of: ServerOf, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "word").write_text("word\n")
    for name, reason in (("none", "No such file"), ("", "Is a directory"), ("bytes", "it is no"), ("word", "it is no")):
        path = tmp_path / name
        error = refused(storage_of(server_of("sftp"), **{KNOWN_HOSTS: str(path)}))
        assert f"the server's key is not known here: {path}: {reason}" in error.message
        assert "SYNCOVA_SFTP_KNOWN_HOSTS" in error.hint


def test_that_no_credentials_are_given_is_told(server_of: ServerOf) -> None:
    error = refused(storage_of(server_of("sftp"), **{PASSWORD: ""}))
    assert "neither key nor password is given" in error.message
    assert "SYNCOVA_SFTP_KEY" in error.hint
    assert "SYNCOVA_SFTP_PASSWORD" in error.hint
    error = refused(storage_of(server_of("sftp"), **{PASSWORD: "wrong"}))
    assert "the server does not accept the credentials" in error.message


@contextlib.contextmanager
def agent_at(path: Path) -> Iterator[str]:
    """Run a real ssh agent, which holds no key yet."""
    program = shutil.which("ssh-agent")
    if program is None:
        pytest.skip("ssh-agent is not installed here")
    with subprocess.Popen([program, "-D", "-a", str(path)], stdout=subprocess.DEVNULL) as process:
        try:
            while not path.exists():
                assert process.poll() is None
            yield str(path)
        finally:
            process.terminate()


def test_an_agent_without_a_key_is_told_as_such(server_of: ServerOf, tmp_path: Path) -> None:
    server, key = server_of("openssh"), tmp_path / "key"
    with agent_at(tmp_path / "agent") as agent:
        storage = storage_of(server, **{KEY_FILE: "", AGENT: agent})
        error = refused(storage)
        assert error.message.endswith(f"the server asks for credentials, and the ssh agent holds no key: {agent}")
        assert "ssh-add" in error.hint
        make_key(key, "")
        subprocess.run(["ssh-add", "-q", str(key)], env={**os.environ, "SSH_AUTH_SOCK": agent}, check=True)
        assert "does not accept the credentials" in refused(storage).message
        with (server.directory.parent / "authorized").open("a") as authorized:
            authorized.write(Path(f"{key}.pub").read_text())
        assert [*storage.list("nothing/")] == []


def test_an_agent_that_is_not_there_is_told_as_such(server_of: ServerOf, tmp_path: Path) -> None:
    path = tmp_path / "gone"
    error = refused(storage_of(server_of("openssh"), **{KEY_FILE: "", AGENT: str(path)}))
    assert f"the ssh agent cannot be asked for keys: {path}: No such file" in error.message
