"""Scratch files of local storage: one directory per process, and the removal of what killed processes left.

Owns the directories below `tmp/`. Each is locked by its process for as long as that lives; one whose lock can be had
is left over. Where directories cannot be locked (some network file systems) nothing is removed. Only directories of
this host are looked at: elsewhere a lock may be invisible.
"""

import contextlib
import fcntl
import os
import weakref

import blake3

_OWNED = "own-"
_STARTING = "new-"


class ScratchDirectory:
    """This process's directory for files being written; made on first use. Raises OSError."""

    def __init__(self, parent: str) -> None:
        self._parent = parent
        self.path: str | None = None

    def require(self) -> str:
        """Return the directory's path; the first call makes it and clears away what the dead left."""
        if self.path is None:
            self.path = self._make()
            _remove_left_over(self._parent)
        return self.path

    def _make(self) -> str:
        """Make and lock a directory under a name that nobody looks at, then give it its name: no moment unlocked."""
        starting = os.path.join(self._parent, _STARTING + os.urandom(16).hex())
        path = os.path.join(self._parent, f"{_own_prefix()}{os.urandom(16).hex()}")
        os.mkdir(starting, 0o700)
        descriptor = os.open(starting, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _try_lock(descriptor)
        os.rename(starting, path)
        weakref.finalize(self, _release, descriptor, path, os.getpid())
        return path


def _own_prefix() -> str:
    return f"{_OWNED}{blake3.blake3(os.uname().nodename.encode()).hexdigest()[:8]}-"


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_left_over(parent: str) -> None:
    for name in os.listdir(parent):
        if name.startswith(_own_prefix()):
            # Whatever cannot be removed now is tried again by the next process.
            with contextlib.suppress(OSError):
                _remove_if_dead(os.path.join(parent, name))


def _remove_if_dead(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _try_lock(descriptor):
            for name in os.listdir(descriptor):
                os.unlink(name, dir_fd=descriptor)
            os.rmdir(path)
    finally:
        os.close(descriptor)


def _release(descriptor: int, path: str, pid: int) -> None:
    """Give the directory up. A forked child shares the lock and must leave its parent's directory alone."""
    with contextlib.suppress(OSError):
        os.close(descriptor)
    if os.getpid() == pid:
        with contextlib.suppress(OSError):
            os.rmdir(path)
