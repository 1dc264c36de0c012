"""Runs pip, from the wheel kept here. Owns how packages come in (pinned, hashed, wheels only) and what a failure means.

The wheel is in the repository so that a Python without pip and ensurepip needs nothing but the package index; its hash
is checked before any of it runs. Configuration is pip's own: pip.conf, PIP_*, HTTPS_PROXY, SSL_CERT_FILE.
"""

import hashlib
import os
import re
import subprocess
import zipfile
from typing import Dict, List, NamedTuple, Optional

from bootstrap.failures import BootstrapError

HERE = os.path.dirname(os.path.abspath(__file__))
PIP_WHEEL = os.path.join(HERE, "pip-26.3-py3-none-any.whl")
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
# These would send packages elsewhere than into .venv.
_MISLEADING = (
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_PYTHON",
    "PIP_DRY_RUN",
)
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
_NO_NETWORK = re.compile(
    r"Failed to establish a new connection|NewConnectionError|NameResolutionError|ConnectTimeout|Network is unreachable"
    r"|ProxyError|Cannot connect to proxy|Read timed out|Could not connect|Connection refused|Temporary failure in name"
)
_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLError|certificate verify failed", re.IGNORECASE)
_MISSING = re.compile(r"No matching distribution found for (\S+)")
_HASH = re.compile(r"DO NOT MATCH THE HASHES")


class Source(NamedTuple):
    """Where packages come from: the configured index, or only the wheels in a directory."""

    wheels: Optional[str]

    def options(self) -> List[str]:
        """Return pip's options for it."""
        return [] if self.wheels is None else ["--no-index", "--find-links", self.wheels]


def lock_file(clone: str, layer: str) -> str:
    """Return the path of a layer's lock."""
    return os.path.join(clone, "requirements", layer + ".txt")


def digest(path: str) -> str:
    """Return the SHA-256 of a file in hex."""
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def put_pip(site_packages: str) -> None:
    """Unpack the kept pip, which is what installing a pure wheel means; BootstrapError when its hash is another."""
    _checked_wheel()
    with zipfile.ZipFile(PIP_WHEEL) as wheel:
        wheel.extractall(site_packages)


def install(python: str, lock: str, source: Source, log: str) -> None:
    """Install a lock into the environment of this Python; BootstrapError says in one line why not, the log says all."""
    options = ["--quiet", "--no-deps", "--no-compile", "--no-user", "--no-warn-script-location"]
    command = [python, "-I", "-m", "pip", "install", *_pinned(lock), *options, *source.options()]
    _run(command, log)
    # On all cores: pip would compile one file after the other. Failing here costs a slow start only. Pip runs rarely.
    place = os.path.join(os.path.dirname(os.path.dirname(python)), "lib")
    compile_all = [python, "-I", "-m", "compileall", "-q", "-j", "0", "-x", "/site-packages/pip/", place]
    subprocess.call(compile_all, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def download(python: str, lock: str, directory: str, log: str) -> None:
    """Fetch the wheels of a lock for this Python and platform into a directory."""
    _checked_wheel()
    command = [python, "-I", os.path.join(PIP_WHEEL, "pip"), "download", *_pinned(lock), "--quiet", "--no-deps"]
    _run([*command, "--dest", directory], log)


def _pinned(lock: str) -> List[str]:
    return [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        lock,
        "--no-input",
        "--disable-pip-version-check",
    ]


def _checked_wheel() -> None:
    if not os.path.isfile(PIP_WHEEL) or digest(PIP_WHEEL) != PIP_SHA256:
        raise BootstrapError("{} is not the pinned pip: restore it with git checkout".format(PIP_WHEEL))


def _run(command: List[str], log: str) -> None:
    with open(log, "wb") as stream:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env=_environment()
        )
        try:
            code = process.wait()
        finally:
            # Ctrl-C or an error here must not leave a pip behind that writes on.
            if process.poll() is None:
                process.kill()
                process.wait()
    if code:
        with open(log, encoding="utf-8", errors="replace") as text:
            raise BootstrapError("{} (all of it: {})".format(explain(text.read()), log))


def _environment() -> Dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    kept.update(PIP_ROOT_USER_ACTION="ignore", PIP_NO_COLOR="1")
    return kept


def explain(output: str) -> str:
    """Return one line on why pip failed, with the next step."""
    missing = _MISSING.search(output)
    package = missing.group(1) if missing else "the packages"
    if _NO_ROOM.search(output):
        return "cannot install: no space left on the device; make room and start again"
    if _HASH.search(output):
        return "cannot install: a downloaded package is not the pinned one (its hash differs); check your package index"
    if _CERTIFICATE.search(output):
        return "cannot install: the package index's certificate is not trusted here; set PIP_CERT or SSL_CERT_FILE"
    if _NO_NETWORK.search(output):
        return "cannot install: no network to fetch {}; set HTTPS_PROXY or PIP_INDEX_URL, or use --wheels DIR".format(
            package
        )
    if missing:
        return "cannot install: {} is not in the index or wheels directory used, or it was not reached".format(package)
    lines = [line.strip() for line in output.splitlines() if line.strip().startswith("ERROR")]
    return "cannot install: {}".format(lines[-1] if lines else "pip failed")
