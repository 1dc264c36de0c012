"""Sets the attributes of restored objects: times, owner, extended attributes, ACLs, then the mode.

Owns that order: chown clears setuid and file capabilities, so it comes before those; the mode takes away the mark of an
unfinished object, so it is set last, and a restore killed in between knows the object as its own. An ACL sets all of
the mode but its special bits, and its mask is the mode's group bits, so that both agree whichever comes last. None of
these touches a modification time that is set.
What a target cannot take is reported by class and never stops anything. Some take a call without a word and keep
something else: so what the object has in the end is compared.
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
    XATTR_SECURITY = "xattr_security"
    XATTR_SYSTEM = "xattr_system"
    XATTR_TRUSTED = "xattr_trusted"
    TIMES = "times"
    TIME_PRECISION = "time_precision"
    HARD_LINK = "hard_link"


ReportAttribute = Callable[[AttributeClass, OSError], None]

_NAMESPACES = {
    b"security": AttributeClass.XATTR_SECURITY,
    b"system": AttributeClass.XATTR_SYSTEM,
    b"trusted": AttributeClass.XATTR_TRUSTED,
}
_COARSEST_NS = 2_000_000_000
"""A time that is less than this off was only rounded: no file system in use rounds more."""


def class_of_xattr(name: bytes) -> AttributeClass:
    """Return the class of an extended attribute: ACLs, and each namespace but the user's, are ones of their own."""
    if name.startswith(ACL_PREFIX):
        return AttributeClass.ACL
    return _NAMESPACES.get(name.split(b".")[0], AttributeClass.XATTR)


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
    if not wanted.xattrs and not wanted.mode & SPECIAL_BITS and _set_plainly(descriptor, wanted):
        return
    reports = _Reports(report)
    _set_times(lambda ns: os.utime(descriptor, ns=(ns, ns)), wanted, reports)
    status = os.fstat(descriptor)
    owned = (status.st_uid, status.st_gid) == (wanted.uid, wanted.gid)
    if owned and not wanted.xattrs and stat.S_IMODE(status.st_mode) == stat.S_IMODE(wanted.mode):
        _compare(status, wanted, reports)
        return
    if not owned:
        _owner(lambda uid, gid: os.chown(descriptor, uid, gid), wanted, reports)
    plain, acls = _parted(wanted.xattrs)
    _set_xattrs(descriptor, plain, reports)
    _set_xattrs(descriptor, acls, reports)
    _set_mode(lambda mode: os.chmod(descriptor, mode), descriptor, wanted, reports)
    _compare(os.fstat(descriptor), wanted, reports)


def _set_plainly(descriptor: int, wanted: Attributes) -> bool:
    """Set times and mode where nothing else is to be done; return whether the object is as it should be then.

    Most files of a restore are so. The same calls in the same order, without what the others need to report.
    """
    mode = stat.S_IMODE(wanted.mode)
    try:
        os.utime(descriptor, ns=(wanted.mtime_ns, wanted.mtime_ns))
        status = os.fstat(descriptor)
        if (status.st_uid, status.st_gid) != (wanted.uid, wanted.gid):
            return False
        if stat.S_IMODE(status.st_mode) != mode:
            os.chmod(descriptor, mode)
            status = os.fstat(descriptor)
    except (OSError, OverflowError):
        return False
    return stat.S_IMODE(status.st_mode) == mode and status.st_mtime_ns == wanted.mtime_ns


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
    reports = _Reports(report)
    with _pinned(directory, name, fresh) as (descriptor, path):
        if not _is_owned(os.fstat(descriptor), wanted, reports):
            _owner(lambda uid, gid: os.chown(path, uid, gid), wanted, reports)
        _set_xattrs(path, wanted.xattrs, reports)
        _set_times(lambda ns: os.utime(path, ns=(ns, ns)), wanted, reports)
        _compare(os.fstat(descriptor), wanted, reports)


def apply_to_special(
    directory: int, name: bytes, wanted: Attributes, report: ReportAttribute, fresh: Fresh | None = None
) -> None:
    """Set the attributes of a FIFO or device, which must not be opened. Raises OSError for another object."""
    reports = _Reports(report)
    with _pinned(directory, name, fresh) as (descriptor, path):
        if fresh is not None and fresh.inherits:
            remove_inherited_acls(path)
        if not _is_owned(os.fstat(descriptor), wanted, reports):
            _owner(lambda uid, gid: os.chown(path, uid, gid), wanted, reports)
        plain, acls = _parted(wanted.xattrs)
        _set_xattrs(path, plain, reports)
        _set_times(lambda ns: os.utime(path, ns=(ns, ns)), wanted, reports)
        _set_xattrs(path, acls, reports)
        _set_mode(lambda mode: os.chmod(path, mode), descriptor, wanted, reports)
        _compare(os.fstat(descriptor), wanted, reports)


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


class _Reports:
    """Passes reports about one object on; knows which were made, and the mode and error to compare with."""

    __slots__ = ("_report", "made", "mode", "time_error")

    def __init__(self, report: ReportAttribute) -> None:
        self._report = report
        self.made: set[AttributeClass] = set()
        self.mode: int | None = None
        self.time_error: OSError | None = None

    def __call__(self, kind: AttributeClass, error: OSError) -> None:
        self.made.add(kind)
        self._report(kind, error)


def _owner(chown: Callable[[int, int], None], wanted: Attributes, reports: _Reports) -> None:
    """Set owner and group."""
    try:
        chown(wanted.uid, wanted.gid)
    except OSError as error:
        reports(AttributeClass.OWNER, error)
        _attempt(lambda: chown(-1, wanted.gid), None, reports)


def _set_mode(chmod: Callable[[int], None], descriptor: int, wanted: Attributes, reports: _Reports) -> None:
    mode = stat.S_IMODE(wanted.mode)
    if mode & SPECIAL_BITS and not _is_owned(os.fstat(descriptor), wanted, reports):
        # setuid for another owner than the one it was meant for would be a hole.
        refusal = PermissionError(errno.EPERM, "setuid and setgid are not set for another owner")
        reports(AttributeClass.SPECIAL_BITS, refusal)
        mode &= ~SPECIAL_BITS
    reports.mode = mode
    _attempt(lambda: chmod(mode), AttributeClass.MODE, reports)


def _is_owned(status: os.stat_result, wanted: Attributes, reports: _Reports) -> bool:
    return AttributeClass.OWNER not in reports.made and (status.st_uid, status.st_gid) == (wanted.uid, wanted.gid)


def _parted(xattrs: Sequence[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
    """Return ordinary extended attributes and ACLs, each in order."""
    plain = sorted(item for item in xattrs if not item[0].startswith(ACL_PREFIX))
    return plain, sorted(item for item in xattrs if item[0].startswith(ACL_PREFIX))


def _set_xattrs(target: int | bytes, xattrs: Sequence[tuple[bytes, bytes]], report: ReportAttribute) -> None:
    for name, value in xattrs:
        try:
            write_xattr(target, name, value)
        except OSError as error:
            report(class_of_xattr(name), error)


def remove_inherited_acls(target: int | bytes) -> None:
    """Remove the ACLs that a new object got from its directory. `target` as for `read_xattrs`."""
    for name in _ACLS:
        with contextlib.suppress(OSError):
            remove_xattr(target, name)


def _set_times(utime: Callable[[int], None], wanted: Attributes, reports: _Reports) -> None:
    try:
        utime(wanted.mtime_ns)
    except OverflowError:
        return  # a time that no system call takes: reported when it is compared
    except OSError as error:
        reports.time_error = error


def _compare(status: os.stat_result, wanted: Attributes, reports: _Reports) -> None:
    """Report what a file system holds otherwise than it was set, having said nothing."""
    if AttributeClass.OWNER not in reports.made and (status.st_uid, status.st_gid) != (wanted.uid, wanted.gid):
        reports(AttributeClass.OWNER, OSError(errno.EPERM, "the file system holds another owner than was set"))
    lacking = 0 if reports.mode is None else stat.S_IMODE(status.st_mode) ^ reports.mode
    if lacking and not reports.made & {AttributeClass.MODE, AttributeClass.ACL}:
        kind = AttributeClass.MODE if lacking & ~SPECIAL_BITS else AttributeClass.SPECIAL_BITS
        reports(kind, OSError(errno.EPERM, "the file system holds another mode than was set"))
    off = abs(status.st_mtime_ns - wanted.mtime_ns)
    if off:
        error = reports.time_error or OSError(errno.ERANGE, "the file system holds another time than was set")
        rounded = off < _COARSEST_NS and reports.time_error is None
        reports(AttributeClass.TIME_PRECISION if rounded else AttributeClass.TIMES, error)


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
    except OSError as error:
        if kind is not None:
            report(kind, error)
