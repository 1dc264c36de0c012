"""The target of a restore: a directory tree that is entered by descriptors only.

Owns opening the target, walking in it without following links, and the mark of what is unfinished: what a restore
makes has mode 01700 (directories) or 01600 (files) until its attributes are set, so that a broken-off restore knows
its own leavings when it is run again.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from repositories.engine.display import show_path
from repositories.engine.errors import RestoreTargetError
from repositories.engine.source.descent import Descent

UNFINISHED_DIRECTORY = 0o1700
UNFINISHED_FILE = 0o1600
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DEFAULT_ACL = "system.posix_acl_default"


def is_unfinished(status: os.stat_result) -> bool:
    """Return whether a restore of ours made this object and has not finished it.

    Root gives away what it makes before the mark goes, so that the owner tells it nothing.
    """
    if status.st_uid != os.geteuid() != 0:
        return False
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        # A directory made in one with setgid gets the bit too.
        return mode & ~stat.S_ISGID == UNFINISHED_DIRECTORY
    return stat.S_ISREG(status.st_mode) and mode == UNFINISHED_FILE and status.st_nlink == 1


def refuse_inside(target: bytes, kept_out: frozenset[tuple[int, int]], what: str = "the repository") -> None:
    """Raise RestoreTargetError if the target is one of these directories (st_dev, st_ino), or would lie below one."""
    current = os.path.realpath(target)
    while True:
        with contextlib.suppress(OSError):
            status = os.stat(current)
            if (status.st_dev, status.st_ino) in kept_out:
                raise RestoreTargetError(
                    f"target {show_path(target)} is {what} or lies in it", hint=f"give a directory outside {what}"
                )
        if current == b"/":
            return
        current = os.path.dirname(current)


@dataclass(frozen=True, slots=True)
class OpenedTarget:
    """The target's descriptor. `fresh`: new, or ours and empty, and closed to others until it is done.

    `mode_before` is what the mode of a target of ours was that was closed to ourselves, and had to be opened up.
    """

    descriptor: int
    fresh: bool = False
    mode_before: int | None = None


def open_target(path: bytes, *, whole: bool) -> OpenedTarget:
    """Open the target directory, made with its parents if need be. Raises RestoreTargetError.

    With `whole` it gets the attributes of the source's root, so that an empty one of ours is as good as new.
    """
    try:
        made = _make_target(path)
        descriptor, mode_before = _open_directory(path)
        try:
            status = os.fstat(descriptor)
            fresh = made or (whole and status.st_uid == os.geteuid() and not os.listdir(descriptor))
            if fresh:
                os.chmod(descriptor, UNFINISHED_DIRECTORY)
        except OSError:
            os.close(descriptor)
            raise
    except OSError as error:
        raise unusable(path, error) from error
    return OpenedTarget(descriptor, fresh, None if fresh else mode_before)


def unusable(path: bytes, error: OSError) -> RestoreTargetError:
    """Return the error for a target that cannot be opened or made."""
    return RestoreTargetError(
        f"target {show_path(path)} cannot be used: {error.strerror}", hint="give a directory you may write to"
    )


def _make_target(path: bytes) -> bool:
    parent = os.path.dirname(path.rstrip(b"/"))
    if parent:
        os.makedirs(parent, exist_ok=True)
    try:
        os.mkdir(path, UNFINISHED_DIRECTORY)
    except FileExistsError:
        return False
    return True


def _open_directory(path: bytes) -> tuple[int, int | None]:
    """Return the descriptor, and the mode it had if it was ours and had to be opened up."""
    status = os.stat(path)
    if not (stat.S_ISDIR(status.st_mode) and closed_to_us(status)):
        return os.open(path, DIRECTORY), None
    os.chmod(path, UNFINISHED_DIRECTORY)
    return os.open(path, DIRECTORY), stat.S_IMODE(status.st_mode)


def closed_to_us(status: os.stat_result) -> bool:
    """Return whether a directory is ours and its mode keeps us from listing it or from making something in it."""
    return status.st_uid == os.geteuid() != 0 and status.st_mode & stat.S_IRWXU != stat.S_IRWXU


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
