"""Which sockets a process holds and which of them listen on TCP, as the kernel tells it."""

import contextlib
import os
from pathlib import Path


def listening_inodes() -> set[str]:
    """Return the sockets that wait for TCP connections on this machine."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                inodes.add(fields[9])
    return inodes


def socket_inodes(pid: int) -> set[str]:
    """Return the sockets that a process holds."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile, as the listing's own descriptor is
            link = os.readlink(entry)
            inodes |= {link[8:-1]} if link.startswith("socket:[") else set()
    return inodes
