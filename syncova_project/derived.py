"""Values that follow from settings: hosts and origins of the public address, sealing keys, networks; pure."""

import ipaddress
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from syncova_project.errors import ConfigurationError

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_KEY_BYTES = 32
_LEAST_HEARTBEATS = 3


def hosts_and_origins(public_url: str) -> tuple[list[str], list[str]]:
    """Return ALLOWED_HOSTS and CSRF_TRUSTED_ORIGINS; loopback names are always allowed (health checks use them)."""
    parts = _public(public_url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    hosts = list(dict.fromkeys([host, *LOOPBACK_HOSTS]))
    return hosts, [f"{parts.scheme}://{parts.netloc}"]


def is_loopback_url(public_url: str) -> bool:
    """Tell whether only this machine can use the address."""
    host = _public(public_url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def seal_keys(words: Sequence[str]) -> list[bytes]:
    """Return the sealing keys, first the one that seals; each is 64 hexadecimal digits."""
    keys: list[bytes] = []
    for word in words:
        try:
            key = bytes.fromhex(word)
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise ConfigurationError(
                f"SYNCOVA_SECRET_KEYS: key {len(keys) + 1} is not {_KEY_BYTES * 2} hexadecimal digits.",
                hint="Make one with: openssl rand -hex 32",
            )
        keys.append(key)
    return keys


def trusted_networks(words: Sequence[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return the networks of trusted proxies; a single address is a network of one."""
    networks = []
    for word in words:
        try:
            networks.append(ipaddress.ip_network(word))
        except ValueError as error:
            raise ConfigurationError(
                f"SYNCOVA_TRUSTED_PROXIES: {word!r} is neither an address nor a network.",
                hint="Write for example 127.0.0.1 or 10.1.0.0/16.",
            ) from error
    return networks


def rhythm_problem(*, tick: int, heartbeat: int, orphan: int) -> ConfigurationError | None:
    """Return why the three distances (seconds) do not fit each other, or None (A15).

    A living run must never be taken for orphaned, and the reaper must be able to act: it counts silence anew after
    a gap of two heartbeats between passes.
    """
    if orphan < _LEAST_HEARTBEATS * heartbeat:
        return ConfigurationError(
            f"SYNCOVA_ORPHAN_SECONDS is {orphan}, less than {_LEAST_HEARTBEATS} times SYNCOVA_HEARTBEAT_SECONDS "
            f"({heartbeat}): a living run would be taken for orphaned.",
            hint=f"Set SYNCOVA_ORPHAN_SECONDS to {_LEAST_HEARTBEATS * heartbeat} or more.",
        )
    if tick > heartbeat:
        return ConfigurationError(
            f"SYNCOVA_TICK_SECONDS is {tick}, more than SYNCOVA_HEARTBEAT_SECONDS ({heartbeat}): "
            "an orphaned run would never be noticed.",
            hint=f"Set SYNCOVA_TICK_SECONDS to {heartbeat} or less.",
        )
    return None


def checked_rhythm(*, tick: int, heartbeat: int, orphan: int) -> tuple[int, int, int]:
    """Return the three distances; raises ConfigurationError when no process may start with them."""
    problem = rhythm_problem(tick=tick, heartbeat=heartbeat, orphan=orphan)
    if problem is not None:
        raise problem
    return tick, heartbeat, orphan


def _public(public_url: str) -> SplitResult:
    parts = urlsplit(public_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/"):
        raise ConfigurationError(
            f"SYNCOVA_PUBLIC_URL: {public_url!r} is not http(s)://host[:port].",
            hint="Name the address without a path, for example https://backup.example.org.",
        )
    return parts
