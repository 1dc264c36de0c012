"""The target of a restore: a directory tree that is entered by descriptors only.

Owns opening the target, walking in it without following links, and the mark of what is unfinished: what a restore
makes has mode 01700 (directories) or 01600 (files) until its attributes are set, so that a broken-off restore knows
its own leavings when it is run again.
"""

import contextlib
import os
import stat
from collections.abc import Callable

from repositories.engine.display import show_path
from repositories.engine.errors import RestoreTargetError
from repositories.engine.source.descent import Descent

UNFINISHED_DIRECTORY = 0o1700
UNFINISHED_FILE = 0o1600
_DEFAULT_ACL = "system.posix_acl_default"


def is_unfinished(status: os.stat_result) -> bool:
    """Return whether a restore of ours made this object and has not finished it."""
    if status.st_uid != os.geteuid():
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        # A directory made in one with setgid gets the bit too.
        return mode & ~stat.S_ISGID == UNFINISHED_DIRECTORY
    return stat.S_ISREG(status.st_mode) and mode == UNFINISHED_FILE and status.st_nlink == 1


def refuse_inside(target: bytes, kept_out: frozenset[tuple[int, int]]) -> None:
    """Raise RestoreTargetError if the target is one of these directories (st_dev, st_ino), or would lie below one."""
    current = os.path.realpath(target)
    while True:
        with contextlib.suppress(OSError):
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in kept_out:
                raise RestoreTargetError(
                    f"target {show_path(target)} is the repository or lies in it",
                    hint="give a directory outside the repository",
                )
        if current == b"/":
            return
        current = os.path.dirname(current)


def open_target(path: bytes) -> tuple[int, bool]:
    """Open the target directory, made with its parents if need be; return its descriptor and whether it is fresh.

    A fresh one (new, or ours and empty) is closed to others until it is done. Raises RestoreTargetError.
    """
    fresh = False
    try:
        with contextlib.suppress(FileExistsError):
            parent = os.path.dirname(path.rstrip(b"/"))
            if parent:
                os.makedirs(parent, exist_ok=True)
            os.mkdir(path, UNFINISHED_DIRECTORY)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if os.fstat(descriptor).st_uid == os.geteuid() and not os.listdir(descriptor):
            os.chmod(descriptor, UNFINISHED_DIRECTORY)
            fresh = True
    except OSError as error:
        raise RestoreTargetError(
            f"target {show_path(path)} cannot be used: {error.strerror}", hint="give a directory you may write to"
        ) from error
    return descriptor, fresh


def has_default_acl(descriptor: int) -> bool:
    """Return whether new objects in a directory inherit an ACL."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        return bool(os.getxattr(descriptor, _DEFAULT_ACL))
    except OSError:
        return False


class TargetTree:
    """Stands in one directory of the target and moves to others in manifest order. Owns the root's descriptor."""

    def __init__(self, root: int, leave: Callable[[], None] = lambda: None) -> None:
        """`leave` is called in each directory just before it is left for its parent."""
        self._descent = Descent(root)
        self._leave = leave
        self._names: list[bytes] = []

    @property
    def descriptor(self) -> int:
        """The descriptor of the directory where it stands."""
        return self._descent.descriptor

    @property
    def depth(self) -> int:
        """How many directories below the target it stands."""
        return len(self._names)

    def go(self, directory: bytes) -> None:
        """Move to a directory, through its parents. Raises OSError where one is missing or no directory."""
        wanted = directory.split(b"/") if directory else []
        common = 0
        for have, want in zip(self._names, wanted, strict=False):
            if have != want:
                break
            common += 1
        while len(self._names) > common:
            self.up()
        for name in wanted[common:]:
            self._descent.down(name)
            self._names.append(name)

    def up(self) -> None:
        """Leave a directory for its parent."""
        self._leave()
        self._descent.up()
        self._names.pop()

    def open_beside(self, directory: bytes) -> int:
        """Open another directory of the target, from the root, without moving; the caller closes it."""
        return self._descent.open_from_root(directory.split(b"/") if directory else [])

    def close(self) -> None:
        """Close all descriptors."""
        self._descent.close()
