"""Where this machine's workers keep indexes of large repositories, so that not every run reads them anew.

Owns that directory and the rule that it is theirs alone. Whatever is wrong with it, nothing is kept there and the run
goes on: an index is a convenience. What lies in it is the engine's, and authenticated by it.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

from django.conf import settings

_NAME: Final = "indexes"
_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022


def kept_directory() -> bytes | None:
    """Return the directory, made (0700) if it is missing; None where there is no data directory to hold it.

    None as well for a directory that is a link, another user's, open to others, or in a place where others write:
    they could have a worker of root's write and delete wherever they choose.
    """
    data = Path(settings.DATA_DIR)
    directory = data / _NAME
    with contextlib.suppress(OSError):
        around = data.stat()
        if around.st_uid not in {0, os.geteuid()} or around.st_mode & _OTHERS_WRITE:
            return None
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        found = directory.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS:
            return os.fsencode(directory)
    return None
