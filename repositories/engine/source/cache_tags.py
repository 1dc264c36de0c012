"""Directories that mark themselves as caches: a CACHEDIR.TAG with the standard's signature lies in them.

Owns what counts as a valid tag. Opens it as any file of a source: no link, FIFO or device in its place does harm.
"""

import os
from bisect import bisect_left

from repositories.engine.source.files import open_regular

TAG = b"CACHEDIR.TAG"
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"


def is_tagged(descriptor: int, names: list[bytes]) -> bool:
    """Return whether a directory with these sorted `names` is a cache; a tag that cannot be read does not count."""
    place = bisect_left(names, TAG)
    if names[place : place + 1] != [TAG]:
        return False
    try:
        file, _ = open_regular(TAG, descriptor)
    except OSError:
        return False
    try:
        return os.pread(file, len(SIGNATURE), 0) == SIGNATURE
    except OSError:
        return False
    finally:
        os.close(file)
