"""Trees that hold everything a Linux file system can, and a comparison by everything it tells about them."""

import errno
import hashlib
import os
import socket
import stat
from pathlib import Path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
IS_ROOT = os.geteuid() == 0
AWKWARD_NAMES = (
    b"newline\nname", b"trailing space ", b" leading", b"trailing.", b"-dash", b"bell\x07", b"esc\x1b[31mred",
    b"\xff\xfe\x80", b"\xe2\x80\xaegnp.exe", b"<script>alert(1)<", b"[bold]x[bold]", b"n" * 255, b"%s%n", b"a\\b",
    "\N{SNOWMAN}".encode(), b"~", b"\xc3\x28", b"quote'\"", b"...",
)  # fmt: skip


def pattern(size: int, seed: int = 1) -> bytes:
    """Return bytes that do not repeat."""
    out = b"".join(hashlib.blake2b(b"%d %d" % (seed, n)).digest() for n in range(size // 64 + 1))
    return out[:size]


def build_everything(root: Path, *, device: bool = IS_ROOT) -> None:
    """Make a tree of everything; what needs root only as root."""
    root.mkdir()
    top = os.fsencode(root)
    (root / "empty").write_bytes(b"")
    (root / "small").write_bytes(b"hello\n")
    (root / "zeros").write_bytes(bytes(5000))
    (root / "one zero").write_bytes(b"\0")
    (root / "large").write_bytes(pattern(3_000_000))
    (root / "large twin").write_bytes(pattern(3_000_000))
    (root / "empty directory").mkdir()
    (root / "names").mkdir()
    for name in AWKWARD_NAMES:
        Path(os.fsdecode(top + b"/names/" + name)).write_bytes(name)
    _links(root)
    _sparse(root)
    _modes(root)
    _times(root)
    os.mkfifo(root / "fifo", 0o640)
    if device:
        os.mknod(root / "null", stat.S_IFCHR | 0o606, os.makedev(1, 3))
        os.mknod(root / "block", stat.S_IFBLK | 0o660, os.makedev(7, 200))
    _xattrs(root)


def _links(root: Path) -> None:
    links = os.fsencode(root / "links")
    os.mkdir(links)
    for number, target in enumerate(
        [b"../small", b"nowhere", b"/etc/passwd", b"loop", b"\xff\x01\n", b"x" * 1000, b"."]
    ):
        os.symlink(target, links + b"/%d" % number)
    os.symlink(b"loop", links + b"/loop")
    (root / "hard a").write_bytes(b"linked")
    (root / "later").mkdir()
    os.link(root / "hard a", root / "later" / "hard b")
    os.link(root / "hard a", root / "hard c")
    os.link(links + b"/0", links + b"/hard link of a link", follow_symlinks=False)


def _sparse(root: Path) -> None:
    for name, parts, size in (
        ("hole in the middle", [(0, b"start"), (9_000_000, b"end")], 9_000_003),
        ("hole at start", [(5_000_000, b"x" * 5000)], 5_005_000),
        ("hole at end", [(0, b"x" * 5000)], 7_000_000),
        ("all hole", [], 4_000_001),
        ("many holes", [(n * 131072, b"%d" % n) for n in range(60)], 60 * 131072),
    ):
        with open(root / name, "wb") as file:
            file.truncate(size)
            for offset, data in parts:
                file.seek(offset)
                file.write(data)


def _modes(root: Path) -> None:
    modes = root / "modes"
    modes.mkdir()
    for mode in (0o000, 0o400, 0o200, 0o777, 0o4755, 0o2755, 0o6711, 0o1644):
        path = modes / f"{mode:o}"
        path.write_bytes(b"" if mode in (0o000, 0o200) else b"%o" % mode)
        path.chmod(mode)
        directory = modes / f"d{mode:o}"
        directory.mkdir()
        (directory / "inside").write_bytes(b"in")
        directory.chmod(mode | 0o500)
    if IS_ROOT:
        os.chown(modes / "777", 12345, 54321)
        os.chown(modes / "4755", 4_000_000_000, 4_000_000_001)
        (modes / "4755").chmod(0o4755)


def _times(root: Path) -> None:
    times = root / "times"
    times.mkdir()
    for number, ns in enumerate((0, -1, -(10**18), 1, 7_258_118_400_123_456_789, 10**18 + 1, 999_999_999)):
        path = times / str(number)
        path.write_bytes(b"t")
        os.utime(path, ns=(5, ns))
        os.symlink("x", times / f"link{number}")
        os.utime(times / f"link{number}", ns=(5, ns), follow_symlinks=False)
    os.utime(times, ns=(5, 1_234_567_890_123_456_789))
    os.utime(root / "empty directory", ns=(5, 42))


def _xattrs(root: Path) -> None:
    path = root / "attributes"
    path.write_bytes(b"x")
    try:
        os.setxattr(path, b"user.plain", b"value")
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM):
            return
        raise
    os.setxattr(path, b"user.\xff bytes", b"\0\1\xff")
    os.setxattr(path, b"user.empty", b"")
    os.setxattr(root / "links", b"user.on directory", b"d")
    os.setxattr(root / "empty", b"user.on empty", b"e")
    acl = bytes.fromhex("0200000001000600ffffffff02000400e803000004000400ffffffff10000400ffffffff20000000ffffffff")
    os.setxattr(path, b"system.posix_acl_access", acl)
    os.setxattr(root / "later", b"system.posix_acl_default", acl)
    if IS_ROOT:
        os.setxattr(path, b"trusted.secret", b"t" * 3000)
        os.setxattr(root / "small", b"security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))
        os.setxattr(root / "links" / "0", b"trusted.on link", b"l", follow_symlinks=False)


def add_socket(root: Path) -> None:
    """Leave a socket below `root`."""
    make_socket(root / "socket")


def make_socket(path: Path) -> None:
    """Leave a socket at `path`, however long that is: it is bound by its name alone."""
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        server.bind(path.name)
    finally:
        os.chdir(here)
        server.close()


def change(path: Path, data: bytes, mtime: int) -> None:
    """Give a file other content and a time of change in nanoseconds."""
    path.write_bytes(data)
    os.utime(path, ns=(mtime, mtime))


def remove_deep(root: Path) -> None:
    """Remove what lies below `root` at any depth: pytest's own clean-up recurses and fails on deep trees."""
    parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    trail: list[bytes] = []
    while True:
        names = [os.fsencode(name) for name in os.listdir(parent)]
        deeper = None
        for name in names:
            try:
                os.unlink(name, dir_fd=parent)
            except (IsADirectoryError, PermissionError):
                deeper = name
        if deeper is not None:
            below = os.open(deeper, DIRECTORY, dir_fd=parent)
            trail.append(deeper)
        elif trail:
            below = os.open(b"..", DIRECTORY, dir_fd=parent)
            os.rmdir(trail.pop(), dir_fd=below)
        else:
            os.close(parent)
            return
        os.close(parent)
        parent = below


Description = dict[bytes, dict[str, object]]


def describe(root: Path | bytes) -> Description:
    """Return everything that lstat, readlink, listxattr and the bytes tell, by path; the root is b"."."""
    found: Description = {}
    groups: dict[tuple[int, int], bytes] = {}
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found[b"."] = _describe_one(top, b".", b".", groups)
        waiting: list[tuple[bytes, ...]] = [()]
        while waiting:
            parts = waiting.pop()
            directory = _descend(top, parts)
            for name in sorted(map(os.fsencode, os.listdir(directory))):
                path = b"/".join((*parts, name))
                found[path] = _describe_one(directory, name, path, groups)
                if found[path]["type"] == stat.S_IFDIR:
                    waiting.append((*parts, name))
            os.close(directory)
    finally:
        os.close(top)
    return found


def _descend(top: int, parts: tuple[bytes, ...]) -> int:
    directory = os.dup(top)
    for part in parts:
        below = os.open(part, DIRECTORY, dir_fd=directory)
        os.close(directory)
        directory = below
    return directory


def _describe_one(directory: int, name: bytes, path: bytes, groups: dict[tuple[int, int], bytes]) -> dict[str, object]:
    status = os.lstat(name, dir_fd=directory)
    kind = stat.S_IFMT(status.st_mode)
    facts: dict[str, object] = {
        "type": kind, "mode": status.st_mode, "uid": status.st_uid, "gid": status.st_gid, "mtime": status.st_mtime_ns,
    }  # fmt: skip
    if kind != stat.S_IFDIR and status.st_nlink > 1:
        facts["group"] = groups.setdefault((status.st_dev, status.st_ino), path)
    if kind == stat.S_IFREG:
        facts["size"] = status.st_size
        if status.st_size:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
            with open(descriptor, "rb") as file:
                facts["content"] = hashlib.file_digest(file, "sha256").hexdigest()
    if kind == stat.S_IFLNK:
        facts["target"] = os.readlink(name, dir_fd=directory)
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        facts["device"] = status.st_rdev
    through = b"/proc/self/fd/%d/%b" % (directory, name)
    try:
        facts["xattrs"] = {
            key: os.getxattr(through, key, follow_symlinks=False)
            for key in os.listxattr(through, follow_symlinks=False)
        }
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
    return facts


def assert_same(before: Description, after: Description, ignore: tuple[str, ...] = ()) -> None:
    """Fail with the first differences."""
    assert sorted(before) == sorted(after)
    differences = {
        (path, key): (facts.get(key), after[path].get(key))
        for path, facts in before.items()
        for key in facts.keys() | after[path].keys()
        if key not in ignore and facts.get(key) != after[path].get(key)
    }
    assert not differences, dict(list(differences.items())[:5])
