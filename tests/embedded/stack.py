"""The whole stack of one data directory, driven by its command line as processes."""

import datetime as dt
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from syncova_project import clock
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.python_copy import CLONE

MEMBERS = {"postgres", "valkey", "web", "control", "work", "beat"}


class Bench:
    """One data directory and the command line on it."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.variables = {**os.environ, "PYTHONPATH": str(CLONE)}
        self.variables.pop("SYNCOVA_SETTINGS_FILE", None)

    def argv(self, *words: str) -> list[str]:
        """Return the argv of a command on this data directory."""
        command, *rest = words
        module = [sys.executable, "-P", "-m", "syncova_project.embedded"]
        return [*module, command, "--data", str(self.layout.root), *rest]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        return self.run_argv(self.argv(*words))

    def run_argv(self, argv: list[str], directory: Path = Path("/")) -> "subprocess.CompletedProcess[str]":
        """Run any argv to its end in a directory, with this stack's variables."""
        return subprocess.run(
            argv, env=self.variables, cwd=directory, capture_output=True, text=True, check=False, timeout=120
        )

    def status(self) -> dict[str, Any]:
        """Return what `status --json` says."""
        found: dict[str, Any] = json.loads(self.run("status", "--json").stdout)
        return found

    def member(self, name: str) -> dict[str, Any]:
        """Return the status of one process."""
        return next(member for member in self.status()["processes"] if member["name"] == name)


def get(url: str, token: str = "") -> int:
    """Return the status of the answer; the certificate is not checked."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = ssl._create_unverified_context() if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def eventually(condition: Any, seconds: float = 30) -> bool:
    """Tell whether the condition holds before the time is over."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        if condition():
            return True
        clock.sleep(0.2)
    return bool(condition())


def certificate(directory: Path) -> tuple[Path, Path]:
    """A self-signed pair whose key only its owner may read."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = clock.now()
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pair = directory / "cert.pem", directory / "key.pem"
    pair[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pair[1].touch(mode=0o600)
    pair[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair
