"""The address that web listens on: which are allowed, and the socket itself, bound before anything is started.

The starter binds and hands the socket on: a taken port is named at once, a restarted web loses no connection, and
root can give a low port to web without web ever being root.
"""

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from syncova_project.embedded.problems import BindRefusedError

DEFAULT_ADDRESS, DEFAULT_PORT = "127.0.0.1", 8760
_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Binding:
    """Where web listens and how; `public_url` is the operator's, or empty."""

    address: str = DEFAULT_ADDRESS
    port: int = DEFAULT_PORT
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False
    public_url: str = ""

    @property
    def scheme(self) -> str:
        """Return http or https."""
        return "http" if self.certificate is None else "https"


def check(binding: Binding) -> None:
    """Raise BindRefusedError for an address that is no address, is open without TLS, or has no public name."""
    try:
        address = ipaddress.ip_address(binding.address)
    except ValueError:
        raise BindRefusedError(
            f"--bind {binding.address} is no IP address.", hint="Name one of this machine's addresses."
        ) from None
    if (binding.certificate is None) is not (binding.key is None):
        raise BindRefusedError("--tls-cert and --tls-key belong together.", hint="Give both, or neither.")
    for path in (binding.certificate, binding.key):
        if path is not None and not os.access(path, os.R_OK):
            raise BindRefusedError(f"{path} cannot be read.", hint="Name a PEM file that exists.")
    if not is_loopback(binding) and binding.certificate is None and not binding.insecure:
        raise BindRefusedError(
            f"{binding.address} is reachable from other machines; passwords and tokens would travel in clear.",
            hint="Give --tls-cert and --tls-key, or --insecure behind a proxy that does TLS.",
        )
    if address.is_unspecified and not binding.public_url:
        raise BindRefusedError(
            f"--bind {binding.address} needs SYNCOVA_PUBLIC_URL: which name do people use for this machine?",
            hint="For example SYNCOVA_PUBLIC_URL=https://backup.example.org",
        )


def listen(binding: Binding) -> socket.socket:
    """Return the listening socket (port 0: a free one); raises BindRefusedError naming the reason."""
    version = ipaddress.ip_address(binding.address).version
    listener = socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((binding.address, binding.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(binding, error) from None
    listener.set_inheritable(True)
    return listener


def is_loopback(binding: Binding) -> bool:
    """Tell whether only this machine reaches the address."""
    return ipaddress.ip_address(binding.address).is_loopback


def url_of(binding: Binding, listener: socket.socket) -> str:
    """Return the address by which this machine reaches web."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{binding.scheme}://{shown}:{port}"


def _refused(binding: Binding, error: OSError) -> BindRefusedError:
    place = f"{binding.address} port {binding.port}"
    if error.errno == errno.EADDRINUSE:
        return BindRefusedError(f"{place} is taken by another program.", hint="Name another one with --port.")
    if error.errno == errno.EACCES:
        return BindRefusedError(f"{place} needs root's rights.", hint="Name a port above 1023 with --port.")
    return BindRefusedError(f"{place} cannot be listened on: {error.strerror}.", hint="See --bind and --port.")
