"""The target of a restore: a directory tree that is entered by descriptors only.

Owns opening the target, walking in it without following links, and the marks of what a restore has not finished.
That of directories is setuid and sticky together, which mean nothing there and which nobody sets on one: a directory
gets it before its name, and loses it with the last of its attributes, so that a broken-off restore knows its own when
it is run again. Directories that a restore has made are closed to others and have setgid besides; in these, and only
in these, files are written under their own names, with a mark that means nothing anywhere else.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from repositories.engine.display import show_path
from repositories.engine.errors import RestoreTargetError
from repositories.engine.metadata.apply import remove_inherited_acls
from repositories.engine.metadata.extended import object_in
from repositories.engine.restore.publishing import is_temporary_of, publish, temporary_for
from repositories.engine.source.descent import DIRECTORY_FLAGS, Descent

UNFINISHED = stat.S_ISUID | stat.S_ISVTX
UNFINISHED_FILE: Final = 0o1600
_MADE: Final = 0o7700
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NAMED: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_DEFAULT_ACL = "system.posix_acl_default"


def is_unfinished(status: os.stat_result) -> bool:
    """Return whether this is a directory that a restore of ours has made or changed, and not finished.

    Root gives away what it makes before the mark goes, so that the owner tells it nothing.
    """
    if status.st_uid != os.geteuid() != 0:
        return False
    # An ACL, set before the mode, changes the other bits.
    return stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) & UNFINISHED == UNFINISHED


def is_made(status: os.stat_result) -> bool:
    """Return whether this is a directory that a restore of ours has made, and not finished."""
    return is_unfinished(status) and stat.S_IMODE(status.st_mode) == _MADE


def marked_mode(mode: int) -> int:
    """Return the mode of a directory that was there before, with the mark if that shows that it was there."""
    return mode if mode | UNFINISHED == _MADE else mode | UNFINISHED


def is_half_written(status: os.stat_result, directory: os.stat_result) -> bool:
    """Return whether a restore of ours was writing this file in a directory of its own when it was killed."""
    if not is_made(directory) or status.st_uid != os.geteuid() != 0:
        return False
    mode = stat.S_IMODE(status.st_mode)
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

    `found` is what it was like before it was opened. `mode_before` is what the mode of a target of ours was that was
    closed to ourselves, and had to be opened up.
    """

    descriptor: int
    found: os.stat_result
    fresh: bool = False
    mode_before: int | None = None


def open_target(path: bytes, *, whole: bool) -> OpenedTarget:
    """Open the target directory, made with its parents if need be. Raises RestoreTargetError.

    With `whole` it gets the attributes of the source's root, so that an empty one of ours is as good as new.
    """
    try:
        made = _make_target(path)
        found = os.stat(path)
        descriptor, mode_before = _open_directory(path, found)
        try:
            fresh = made or (whole and is_as_new(descriptor))
            if fresh:
                with contextlib.suppress(OSError):
                    os.chmod(descriptor, _MADE)
        except OSError:
            os.close(descriptor)
            raise
    except OSError as error:
        raise unusable(path, error) from error
    return OpenedTarget(descriptor, found, fresh, None if fresh else mode_before)


def is_as_new(descriptor: int) -> bool:
    """Return whether an open directory is ours and empty. Raises OSError."""
    return os.fstat(descriptor).st_uid == os.geteuid() and is_empty(descriptor)


def is_empty(descriptor: int) -> bool:
    """Return whether nothing is in an open directory, at the same cost however much is. Raises OSError."""
    with os.scandir(descriptor) as found:
        return next(found, None) is None


def unusable(path: bytes, error: OSError) -> RestoreTargetError:
    """Return the error for a target that cannot be opened or made."""
    return RestoreTargetError(
        f"target {show_path(path)} cannot be used: {error.strerror}", hint="give a directory you may write to"
    )


def _make_target(path: bytes) -> bool:
    parent, name = os.path.split(path.rstrip(b"/"))
    if parent:
        os.makedirs(parent, exist_ok=True)
    if not name or os.path.lexists(path):
        return False
    descriptor = os.open(parent or b".", _NAMED)
    try:
        make_directory(descriptor, name)
        _clear_targets(descriptor, name)
    except FileExistsError:
        return False
    finally:
        os.close(descriptor)
    return True


def make_directory(parent: int, name: bytes, *, inherits: bool = False) -> None:
    """Make a marked directory in an open one. Raises FileExistsError, OSError. `inherits` = it is given ACLs there."""
    with temporary_for(parent, name) as temporary:
        os.mkdir(temporary, stat.S_IRWXU, dir_fd=parent)
        _mark(parent, temporary, inherits=inherits)
        publish(parent, temporary, name)


def _mark(parent: int, name: bytes, *, inherits: bool) -> None:
    descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    try:
        if not is_as_new(descriptor):
            raise OSError(errno.ESTALE, "it was exchanged for another object while it was restored")
        if inherits:
            remove_inherited_acls(descriptor)
        with contextlib.suppress(OSError):  # file systems without such modes refuse, or do nothing
            os.chmod(descriptor, _MADE)
    finally:
        os.close(descriptor)


def _clear_targets(parent: int, name: bytes) -> None:
    """Remove the empty directories that killed restores left beside a target that they were about to make."""
    with contextlib.suppress(OSError):
        for each in map(os.fsencode, os.listdir(object_in(parent, b"."))):
            if is_temporary_of(each, frozenset({name})):
                with contextlib.suppress(OSError):
                    os.rmdir(each, dir_fd=parent)


def _open_directory(path: bytes, found: os.stat_result) -> tuple[int, int | None]:
    """Return the descriptor, and the mode it had if it was ours and had to be opened up."""
    if not (stat.S_ISDIR(found.st_mode) and closed_to_us(found)):
        return os.open(path, DIRECTORY), None
    mode = stat.S_IMODE(found.st_mode)
    os.chmod(path, mode | stat.S_IRWXU)
    return os.open(path, DIRECTORY), mode


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
