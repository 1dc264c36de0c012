"""Which directories lie on a network mount, whose clients go on seeing older listings for a while.

Owns the list of file systems. Where /proc does not tell what is mounted, a directory counts as local.
"""

import os
import re
from typing import Final

CACHED_SECONDS: Final = 90.0
"""NFS keeps the attributes of directories for up to 60 s by default."""
_NETWORK: Final = frozenset({b"nfs", b"nfs4", b"cifs", b"smb3", b"9p", b"ceph", b"afs", b"lustre", b"gfs2", b"ocfs2"})
_LINE: Final = re.compile(rb"^\d+ \d+ (\d+):(\d+) .* - (\S+) ", re.ASCII)


def listing_delay_of(path: str, mountinfo: str = "/proc/self/mountinfo") -> float:
    """Return CACHED_SECONDS for a directory on a network file system or in user space, else 0."""
    try:
        device = os.stat(path).st_dev
        with open(mountinfo, "rb") as file:
            lines = [match for line in file if (match := _LINE.match(line))]
    except OSError:
        return 0.0
    here = (os.major(device), os.minor(device))
    types = {match[3] for match in lines if (int(match[1]), int(match[2])) == here}
    return CACHED_SECONDS if any(each in _NETWORK or each.startswith(b"fuse.") for each in types) else 0.0
