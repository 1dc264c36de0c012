"""Which file system an open directory lies on, by where it is mounted and of what type; which are mounted below it.

Owns reading mountinfo for that. A mount is known by its id, which an open descriptor tells: names alone cannot say what
hides what. The names are those that this process sees: its namespace's, below its root. Where /proc tells nothing,
nothing is known, and None or nothing is the answer.
"""

import contextlib
import os
import re

import msgspec

from repositories.engine.manifest.order import split

_MOUNTINFO = "/proc/self/mountinfo"
_LINE = re.compile(rb"(\d+) \d+ \d+:\d+ \S+ (\S+) .* - (\S+) ", re.ASCII)
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_ID = re.compile(rb"^mnt_id:\s*(\d+)$", re.MULTILINE | re.ASCII)
# Only Linux has O_PATH, and only Linux tells the ids of mounts.
_LOOK_FLAGS = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC


class Mount(msgspec.Struct, frozen=True):
    """One mounted file system: its id as long as it is mounted, where, and its type."""

    id: int
    point: bytes
    type: str


def read_mounts(mountinfo: str = _MOUNTINFO) -> dict[int, Mount]:
    """Return what is mounted, by id."""
    try:
        with open(mountinfo, "rb") as file:
            lines = file.readlines()
    except OSError:
        return {}
    found = (Mount(int(match[1]), unescaped(match[2]), _text(match[3])) for match in map(_LINE.match, lines) if match)
    return {mount.id: mount for mount in found}


def mount_id(descriptor: int) -> int | None:
    """Return the id of the mount through which a descriptor was opened."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
            match = _ID.search(file.read())
    except OSError:
        return None
    return int(match[1]) if match else None


def mount_of(descriptor: int, mountinfo: str = _MOUNTINFO) -> Mount | None:
    """Return the mount that an open directory lies on; None also for one that was unmounted since."""
    known = mount_id(descriptor)
    return None if known is None else read_mounts(mountinfo).get(known)


def mount_at(descriptor: int, name: bytes) -> Mount | None:
    """Return what is mounted on the directory `name` in an open one; None for an ordinary directory."""
    found = _opened(name, descriptor)
    if found is None or found == mount_id(descriptor):
        return None
    # Unknown to the list: it was mounted or unmounted meanwhile. It is another one in any case.
    return read_mounts().get(found, Mount(found, b"", ""))


def mounts_below(root: bytes, descriptor: int) -> dict[bytes, frozenset[bytes]]:
    """Return the names of what is mounted below the directory at `root`, by the directory that holds them.

    Paths are relative to the root. Left out is what another mount hides, and what cannot be reached.
    """
    if mount_id(descriptor) is None:
        return {}
    real = os.path.realpath(root)
    start = real if real.endswith(b"/") else real + b"/"
    found: dict[bytes, set[bytes]] = {}
    for mount in read_mounts().values():
        if mount.point.startswith(start) and mount.point != start and _opened(mount.point) == mount.id:
            directory, name = split(mount.point[len(start) :])
            found.setdefault(directory, set()).add(name)
    return {directory: frozenset(names) for directory, names in found.items()}


def unescaped(word: bytes) -> bytes:
    """Return a word of mountinfo as it is: blanks and the like are written in octal there."""
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 8) & 255]), word)


def _opened(path: bytes, directory: int | None = None) -> int | None:
    """Return the id of the mount that a path leads to."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, _LOOK_FLAGS, dir_fd=directory)
        try:
            return mount_id(descriptor)
        finally:
            os.close(descriptor)
    return None


def _text(word: bytes) -> str:
    return word.decode("ascii", "replace")
