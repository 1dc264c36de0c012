"""How the C library hands out memory to a prune: large buffers go back to the system as soon as they are let go of.

Owns the settings, which hold for the whole process, and do nothing where the C library is not glibc. A prune reads
segments of tens of megabytes while its arrays grow. Left alone, glibc learns from the first large buffer that is let go
of to keep such ones in its heap, where they leave holes between the arrays, and gives each thread a heap of its own:
285 MB instead of 184 MB for a million chunks that are packed anew.
"""

import ctypes
from typing import Final

from repositories.engine.limits import MIB

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8


def return_large_buffers() -> bool:
    """Set this for the process; return whether the C library knows it. May be called again, in any thread."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = ((_TRIM_THRESHOLD, MIB), (_MMAP_THRESHOLD, MIB), (_ARENA_MAX, 1))
    return all(mallopt(ctypes.c_int(name), ctypes.c_int(value)) for name, value in settings)
