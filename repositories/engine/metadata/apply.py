"""Sets the attributes of restored objects: times, owner, extended attributes, ACLs, then the mode.

Owns that order: chown clears setuid and file capabilities, so it comes before those; the mode takes away the mark of an
unfinished object, so it is set last, and a restore killed in between knows the object as its own. An ACL sets all of
the mode but its special bits, and its mask is the mode's group bits, so that both agree whichever comes last. None of
these touches a modification time that is set.
What a target cannot take is reported by class and never stops anything.
"""

import contextlib
import enum
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from repositories.engine.metadata.extended import ACL_PREFIX, pinned_path, remove_xattr, write_xattr

SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID
_ACLS = (ACL_PREFIX + b"access", ACL_PREFIX + b"default")


class AttributeClass(enum.StrEnum):
    """What could not be restored about an object; reported once per class with a count."""

    OWNER = "owner"
    MODE = "mode"
    SPECIAL_BITS = "special_bits"
    ACL = "acl"
    XATTR = "xattr"
    TIMES = "times"
    HARD_LINK = "hard_link"


ReportAttribute = Callable[[AttributeClass, OSError], None]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What to set; `xattrs` holds ACLs too. Nothing is done to access time but to make it the modification time."""

    mode: int
    uid: int
    gid: int
    mtime_ns: int
    xattrs: Sequence[tuple[bytes, bytes]] = ()


def apply_to_descriptor(descriptor: int, wanted: Attributes, report: ReportAttribute) -> None:
    """Set all attributes of an open file or directory; what it has already is not set again."""
    times = (wanted.mtime_ns, wanted.mtime_ns)
    _attempt(lambda: os.utime(descriptor, ns=times), None, report)
    status = os.fstat(descriptor)
    _require_time(status, wanted, report)
    owned = (status.st_uid, status.st_gid) == (wanted.uid, wanted.gid)
    if owned and not wanted.xattrs and stat.S_IMODE(status.st_mode) == stat.S_IMODE(wanted.mode):
        return
    if not owned:
        owned = _owner(lambda uid, gid: os.chown(descriptor, uid, gid), wanted, report)
    plain, acls = _parted(wanted.xattrs)
    _set_xattrs(descriptor, plain, report)
    _set_xattrs(descriptor, acls, report)
    _attempt(lambda: os.chmod(descriptor, _mode(wanted, report, owned=owned)), AttributeClass.MODE, report)


@dataclass(frozen=True, slots=True)
class Fresh:
    """What was made a moment ago, as it must be found: anybody who owns its directory may have exchanged it.

    `kind` is its `S_IFMT`, `device` its number. `inherits`: it was given ACLs by its directory, which go.
    """

    kind: int
    device: int = 0
    inherits: bool = False


def apply_to_link(
    directory: int, name: bytes, wanted: Attributes, report: ReportAttribute, fresh: Fresh | None = None
) -> None:
    """Set the attributes of a symbolic link itself, which has no mode. Raises OSError for another object."""
    with _pinned(directory, name, fresh) as (descriptor, path):
        _owner(lambda uid, gid: os.chown(path, uid, gid), wanted, report)
        _set_xattrs(path, wanted.xattrs, report)
        _set_times(descriptor, path, wanted, report)


def apply_to_special(
    directory: int, name: bytes, wanted: Attributes, report: ReportAttribute, fresh: Fresh | None = None
) -> None:
    """Set the attributes of a FIFO or device, which must not be opened. Raises OSError for another object."""
    with _pinned(directory, name, fresh) as (descriptor, path):
        if fresh is not None and fresh.inherits:
            remove_inherited_acls(path)
        owned = _owner(lambda uid, gid: os.chown(path, uid, gid), wanted, report)
        plain, acls = _parted(wanted.xattrs)
        _set_xattrs(path, plain, report)
        _set_times(descriptor, path, wanted, report)
        _set_xattrs(path, acls, report)
        mode = _mode(wanted, report, owned=owned)
        _attempt(lambda: os.chmod(path, mode), AttributeClass.MODE, report)


@contextlib.contextmanager
def _pinned(directory: int, name: bytes, fresh: Fresh | None) -> Iterator[tuple[int, bytes]]:
    """Give a descriptor that pins an object without opening it, and a path that leads to exactly that one.

    A name that was exchanged for a hard link to something of ours elsewhere would else carry the attributes there.
    """
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        status = os.fstat(descriptor)
        if fresh is not None and (
            (stat.S_IFMT(status.st_mode), status.st_rdev, status.st_nlink, status.st_uid)
            != (fresh.kind, fresh.device, 1, os.geteuid())
        ):
            raise OSError(errno.ESTALE, "it was exchanged for another object while it was restored")
        yield descriptor, pinned_path(descriptor)
    finally:
        os.close(descriptor)


def _owner(chown: Callable[[int, int], None], wanted: Attributes, report: ReportAttribute) -> bool:
    """Set owner and group; return whether the owner is now the wanted one."""
    try:
        chown(wanted.uid, wanted.gid)
    except OSError as error:
        report(AttributeClass.OWNER, error)
        _attempt(lambda: chown(-1, wanted.gid), None, report)
        return False
    return True


def _mode(wanted: Attributes, report: ReportAttribute, *, owned: bool) -> int:
    mode = stat.S_IMODE(wanted.mode)
    if not owned and mode & SPECIAL_BITS:
        # setuid for another owner than the one it was meant for would be a hole.
        report(AttributeClass.SPECIAL_BITS, PermissionError(1, "setuid and setgid are not set for another owner"))
        mode &= ~SPECIAL_BITS
    return mode


def _parted(xattrs: Sequence[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
    """Return ordinary extended attributes and ACLs, each in order."""
    plain = sorted(item for item in xattrs if not item[0].startswith(ACL_PREFIX))
    return plain, sorted(item for item in xattrs if item[0].startswith(ACL_PREFIX))


def _set_xattrs(target: int | bytes, xattrs: Sequence[tuple[bytes, bytes]], report: ReportAttribute) -> None:
    for name, value in xattrs:
        kind = AttributeClass.ACL if name.startswith(ACL_PREFIX) else AttributeClass.XATTR
        try:
            write_xattr(target, name, value)
        except OSError as error:
            report(kind, error)


def remove_inherited_acls(target: int | bytes) -> None:
    """Remove the ACLs that a new object got from its directory. `target` as for `read_xattrs`."""
    for name in _ACLS:
        with contextlib.suppress(OSError):
            remove_xattr(target, name)


def _set_times(descriptor: int, path: bytes, wanted: Attributes, report: ReportAttribute) -> None:
    times = (wanted.mtime_ns, wanted.mtime_ns)
    _attempt(lambda: os.utime(path, ns=times), None, report)
    _require_time(os.fstat(descriptor), wanted, report)


def _require_time(status: os.stat_result, wanted: Attributes, report: ReportAttribute) -> None:
    """Report a time that was cut: file systems do that without a word when it is too far or too fine for them."""
    if status.st_mtime_ns != wanted.mtime_ns:
        report(AttributeClass.TIMES, OSError(errno.ERANGE, "the file system holds another time than was set"))


def chmod_unopened(directory: int, name: bytes, mode: int) -> None:
    """Set the mode of a directory by its name, without following a link and without opening it. Raises OSError."""
    # O_PATH pins the object without opening it; chmod through /proc reaches exactly that one. A file that was put in
    # the place of the directory could be a hard link to any other.
    descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.chmod(pinned_path(descriptor), mode)
    finally:
        os.close(descriptor)


def _attempt(call: Callable[[], object], kind: AttributeClass | None, report: ReportAttribute) -> None:
    try:
        call()
    except OverflowError:
        return  # a time that no system call takes: reported when it is compared
    except OSError as error:
        if kind is not None:
            report(kind, error)
