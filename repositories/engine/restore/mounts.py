"""Which mounted file system an open directory belongs to.

Owns telling two mounts apart, also bind mounts of one and the same file system, which share a device number.
"""

import os

_LABEL = b"mnt_id:"

Mount = tuple[int, int]
"""(st_dev, id of the mount); the id is 0 where the system does not tell it."""


def mount_of(descriptor: int) -> Mount:
    """Return the mount of an open object. Raises OSError."""
    return os.fstat(descriptor).st_dev, _mount_id(descriptor)


def _mount_id(descriptor: int) -> int:
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
            for line in file:
                if line.startswith(_LABEL):
                    return int(line[len(_LABEL) :])
    except (OSError, ValueError):
        pass
    return 0
