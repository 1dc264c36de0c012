"""Which mounted, writable file systems lie on a block device: on itself, its partitions, or what is built on it.

Owns reading mountinfo and sysfs for that. Where either cannot be read, nothing is known to be mounted.
"""

import contextlib
import os
import re

from repositories.engine.display import show_path
from repositories.engine.source.mounts import unescaped

_MOUNTINFO = "/proc/self/mountinfo"
_SYSFS = "/sys/dev/block"
_LINE = re.compile(rb"\d+ \d+ (\d+):(\d+) \S+ (\S+) .* - \S+ (\S+) (\S+)", re.ASCII)


def writable_mount_on(device: int, mountinfo: str = _MOUNTINFO, sysfs: str = _SYSFS) -> str | None:
    """Return where a writable file system on `device` (an st_rdev) is mounted, as shown text; None for nowhere."""
    try:
        with open(mountinfo, "rb") as file:
            lines = file.readlines()
    except OSError:
        return None
    devices = _built_on(device, sysfs)
    for match in filter(None, map(_LINE.match, lines)):
        # The file system's own option decides: a bind mount may be read-only over a writable one.
        if b"rw" in match[5].split(b",") and _devices_of(match) & devices:
            return show_path(unescaped(match[3]))
    return None


def _devices_of(match: "re.Match[bytes]") -> set[int]:
    found = {os.makedev(int(match[1]), int(match[2]))}
    origin = unescaped(match[4])
    if origin.startswith(b"/dev/"):
        # A file system over several devices has a number of its own; its first device is named.
        with contextlib.suppress(OSError):
            found.add(os.stat(origin).st_rdev)
    return found


def _built_on(device: int, sysfs: str) -> set[int]:
    """Return the device, its partitions, and what holds any of them (volumes, arrays, encrypted devices)."""
    found: set[int] = set()
    waiting = [device]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += _directly_on(os.path.join(sysfs, f"{os.major(current)}:{os.minor(current)}"))
    return found


def _directly_on(place: str) -> list[int]:
    candidates = [os.path.join(place, "holders", name) for name in _names(os.path.join(place, "holders"))]
    partitions = (os.path.join(place, name) for name in _names(place))
    candidates += [each for each in partitions if os.path.exists(os.path.join(each, "partition"))]
    return [number for each in candidates if (number := _number(os.path.join(each, "dev"))) is not None]


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _number(file: str) -> int | None:
    try:
        with open(file, encoding="ascii") as opened:
            major, _, minor = opened.read().strip().partition(":")
        return os.makedev(int(major), int(minor))
    except (OSError, ValueError):
        return None
