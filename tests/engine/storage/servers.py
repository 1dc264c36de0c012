"""Real servers of remote media on loopback: rclone's S3, WebDAV and SFTP, and OpenSSH's sshd where it is installed.

Owns starting and ending them. Secrets go to them by their environment or by files, never by their arguments.
"""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from repositories.engine.storage.credentials import (
    ACCESS_KEY_ID,
    KEY_FILE,
    KNOWN_HOSTS,
    PASSWORD,
    SECRET_ACCESS_KEY,
    Credentials,
)
from tests import canaries

KEY_ID = canaries.credential("key-id")
SECRET = canaries.credential("secret")
USER = "keeper"
BUCKET = "backups"
_SSHD = "/usr/sbin/sshd"
_STARTING_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs: where it listens, what it serves, what lets us in."""

    kind: str
    port: int
    directory: Path
    credentials: Credentials

    def location(self, name: str, port: int | None = None) -> str:
        """Return the location of a repository `name` there, perhaps through a proxy on another port."""
        at = port or self.port
        if self.kind == "s3":
            return f"s3://{BUCKET}/{name}?endpoint=http://127.0.0.1:{at}&region=us-east-1"
        if self.kind == "webdav":
            return f"webdav://{USER}@127.0.0.1:{at}/{name}"
        if self.kind == "sftp":
            return f"sftp://{USER}@127.0.0.1:{at}/{name}"
        return f"sftp://root@127.0.0.1:{at}{self.directory}/{name}"


def rclone() -> str:
    """Return the program that comes with the test requirements."""
    beside = Path(sys.executable).parent / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    assert found, "rclone is missing: ./syncova test installs it"
    return found


def can_run_sshd() -> bool:
    """Tell whether OpenSSH's server can be started here."""
    return os.geteuid() == 0 and os.path.exists(_SSHD)


@contextlib.contextmanager
def running(kind: str, place: Path) -> Iterator[Server]:
    """Run a server of a kind (s3, webdav, sftp, openssh) that keeps everything below `place`."""
    directory = place / "served"
    directory.mkdir(parents=True)
    if kind == "openssh":
        with _sshd(place, directory) as server:
            yield server
        return
    port = free_port()
    keys = _make_host_key(place, port) if kind == "sftp" else None
    command = [rclone(), "serve", kind, str(directory), "--addr", f"127.0.0.1:{port}", "--config", "/dev/null"]
    if keys is not None:
        command += ["--key", str(keys)]
    environment = {"RCLONE_USER": USER, "RCLONE_PASS": SECRET}
    if kind == "s3":
        (directory / BUCKET).mkdir()
        environment = {"RCLONE_AUTH_KEY": f'"{KEY_ID},{SECRET}"'}
    with _process(command, port, environment | {"HOME": str(place), "RCLONE_CACHE_DIR": str(place / "cache")}, place):
        yield Server(kind, port, directory, _credentials(kind, place))


def _credentials(kind: str, place: Path) -> Credentials:
    if kind == "s3":
        return Credentials({ACCESS_KEY_ID: KEY_ID, SECRET_ACCESS_KEY: SECRET})
    if kind == "webdav":
        return Credentials({PASSWORD: SECRET})
    return Credentials({PASSWORD: SECRET, KNOWN_HOSTS: str(place / "known_hosts")})


@contextlib.contextmanager
def _sshd(place: Path, directory: Path) -> Iterator[Server]:
    port = free_port()
    host_key = _make_host_key(place, port)
    user_key, public = _make_key(place / "user_key")
    (place / "authorized").write_text(public + "\n")
    configuration = place / "sshd_config"
    configuration.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {host_key}\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {place / 'authorized'}\nPasswordAuthentication no\nPermitRootLogin yes\n"
        "Subsystem sftp internal-sftp\n"
    )
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    with _process([_SSHD, "-D", "-e", "-f", str(configuration)], port, {}, place):
        known = Credentials({KEY_FILE: str(user_key), KNOWN_HOSTS: str(place / "known_hosts")})
        yield Server("openssh", port, directory, known)


def _make_host_key(place: Path, port: int) -> Path:
    path, public = _make_key(place / "host_key")
    (place / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}\n")
    return path


def know_at(server: Server, port: int, place: Path) -> Credentials:
    """Return a server's credentials for another port: host keys are known by address and port."""
    known = server.credentials.get(KNOWN_HOSTS)
    if not known:
        return server.credentials
    moved = place / f"known_hosts-{port}"
    moved.write_text(Path(known).read_text().replace(f":{server.port} ", f":{port} "))
    return Credentials({**server.credentials.values, KNOWN_HOSTS: str(moved)})


def _make_key(path: Path) -> tuple[Path, str]:
    key = Ed25519PrivateKey.generate()
    form = serialization.PrivateFormat.OpenSSH
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return path, public.decode()


def free_port() -> int:
    """Return a port that nobody listens on.

    From below those that systems give to clients: one of these may have a client, or be a client's own, a moment later.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def _process(command: list[str], port: int, environment: Mapping[str, str], place: Path) -> Iterator[None]:
    with (place / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ.get("PATH", os.defpath), **environment},
        )
    try:
        _await_port(process, port, place / "server.log")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + _STARTING_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text(errors='replace')}")
