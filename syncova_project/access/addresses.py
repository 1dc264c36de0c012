"""Whose address a request came from: the connection's, or what a trusted proxy says of it; pure.

Owns reading X-Forwarded-For. What a client itself writes into it is never believed.
"""

import ipaddress
from collections.abc import Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def client_address(connection: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """Return the nearest address that is no trusted proxy's; to `forwarded`, the header, each proxy adds at the end."""
    nearest = connection
    for word in reversed(forwarded.split(",")):
        if not is_trusted(nearest, trusted):
            break
        address = _parsed(word)
        if address is None:
            break
        nearest = str(address)
    return nearest


def is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    """Tell whether a proxy of the installation has this address."""
    if not trusted:
        return False
    known = _parsed(address)
    return known is not None and any(known in network for network in trusted)


def neighbourhood(address: str) -> str:
    """Return what limits count by: the address, of IPv6 its /64, all of which one machine may have."""
    known = _parsed(address) if ":" in address else None
    return str(ipaddress.ip_network((known, 64), strict=False)) if known and known.version == 6 else address


def _parsed(word: str) -> Address | None:
    try:
        found = ipaddress.ip_address(word.strip())
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found
