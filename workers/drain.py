"""The drain byte: how a worker's main process tells its children that it is shutting down.

Owns one byte of anonymous shared memory, made when the module is imported, which is before the pool forks: SIGTERM
tells the children of a prefork pool nothing (execution.md, section 3). Writing it is safe in a signal handler.
"""

import mmap

_shared = mmap.mmap(-1, 1)


def request() -> None:
    """Ask every supervisor of this worker to cancel its run; there is no way back."""
    _shared[0] = 1


def requested() -> bool:
    """Tell whether this worker is shutting down."""
    return _shared[0] == 1


def reset() -> None:
    """Forget the request; only for a process that is not a worker (tests)."""
    _shared[0] = 0
