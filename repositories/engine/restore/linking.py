"""Whether the target can make a name a hard link to another, where nothing may be changed to find out.

Owns the probe: a link under a temporary name, which goes at once, and the directory's times as they were.
"""

import contextlib
import errno
import os
from typing import Final

from repositories.engine.restore.publishing import new_token, temporary_name

NO_LINKS: Final = frozenset({errno.EPERM, errno.EMLINK, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EACCES})


def refusal_to_link(first: tuple[int, bytes], directory: int, name: bytes) -> OSError | None:
    """Return why the file (directory, name) `first` cannot get a further name here; None if it can, or nobody knows.

    Raises OSError for the look at the directory.
    """
    before = os.fstat(directory)
    temporary = temporary_name(name, new_token())
    try:
        os.link(first[1], temporary, src_dir_fd=first[0], dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        # Who may not write to a directory learns nothing of its file system.
        return error if error.errno in NO_LINKS - {errno.EACCES} else None
    with contextlib.suppress(OSError):
        os.unlink(temporary, dir_fd=directory)
        os.utime(directory, ns=(before.st_atime_ns, before.st_mtime_ns))
    return None
