"""Which mounted file system an object of the target lies on, for telling people what it cannot take.

Owns the names shown. A restore may cross mounts below its target. Looks at the mounts only when there is something to
tell, once per device.
"""

import os
import threading
from dataclasses import dataclass
from typing import Final

from repositories.engine.source.mounts import mount_of

_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC

Place = int | bytes
"""An open object, or a path to one whose last component is not followed."""


@dataclass(frozen=True, slots=True)
class FileSystem:
    """Where it is mounted and its type; both empty where the system does not tell."""

    mount_point: bytes = b""
    type: str = ""


class FileSystems:
    """Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, FileSystem] = {}

    def of(self, place: Place) -> FileSystem:
        """Return the file system of an object. What cannot be looked at any more is on an unknown one."""
        try:
            status = os.stat(place) if isinstance(place, int) else os.lstat(place)
            with self._lock:
                if status.st_dev not in self._known:
                    self._known[status.st_dev] = _look(place)
                return self._known[status.st_dev]
        except OSError:
            return FileSystem()


def _look(place: Place) -> FileSystem:
    descriptor = place if isinstance(place, int) else os.open(place, _LOOK)
    try:
        mount = mount_of(descriptor)
    finally:
        if not isinstance(place, int):
            os.close(descriptor)
    return FileSystem() if mount is None else FileSystem(mount.point, mount.type)
