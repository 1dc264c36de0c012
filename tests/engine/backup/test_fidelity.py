"""What a Linux tree may hold, at its edges, comes back as it was: names, owners, devices, times, holes (2.1, 2.2)."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite
from tests.engine.repositories import back_up_tree, entry_of, restore_latest
from tests.engine.trees import IS_ROOT, assert_same, describe, pattern

SECOND = 10**9
ACCESS = bytes.fromhex("0200000001000700ffffffff02000500e803000004000500ffffffff10000700ffffffff20000500ffffffff")
HOLE = 1 << 20


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def require_same(repository: Repository, tree: Path, out: Path) -> None:
    """Back up twice and restore twice, the second time over the first: all four times the same comes out."""
    before = describe(tree)
    for _ in range(2):
        result = back_up_tree(repository, tree)
        assert (result.skipped, result.warnings) == (0, 0), result.problems
        restored = restore_latest(repository, out, verify=True, overwrite=Overwrite.ALWAYS)
        assert (restored.exit_code, restored.warnings) == (0, {})
        assert_same(before, describe(out))
    assert_same(before, describe(tree))


def test_every_byte_may_be_a_name(tree: Path, repository: Repository, tmp_path: Path) -> None:
    top = os.fsencode(tree)
    for byte in set(range(1, 256)) - {ord("/"), ord(".")}:
        name = b"%c" % byte
        os.close(os.open(top + b"/" + name, os.O_CREAT | os.O_WRONLY))
        os.mkdir(top + b"/d" + name)
        os.symlink(name * 4095, top + b"/l" + name)
    os.mkdir(top + b"/" + b"\xff" * 255)
    os.symlink(b"\x80" * 4095, top + b"/" + b"\xff" * 255 + b"/" + b" " * 254 + b".")
    require_same(repository, tree, tmp_path / "out")


def test_a_tree_and_a_target_of_awkward_names(tmp_path: Path, repository: Repository) -> None:
    tree = tmp_path / os.fsdecode(b"\xff\n " + b"t" * 200 + b".")
    tree.mkdir()
    (tree / "file").write_bytes(b"x")
    require_same(repository, tree, tmp_path / os.fsdecode(b"\x80\t out. "))


def test_closed_files_and_directories(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """As an ordinary user what has content cannot be read; `test_unfriendly` shows that it is told."""
    for mode in (0o000, 0o111, 0o222, 0o333):
        (tree / f"empty {mode:o}").touch()
        (tree / f"empty {mode:o}").chmod(mode)
        if IS_ROOT:
            (tree / f"full {mode:o}").write_bytes(b"f")
            (tree / f"full {mode:o}").chmod(mode)
            (tree / f"directory {mode:o}").mkdir()
            (tree / f"directory {mode:o}" / "below").write_bytes(b"b")
            (tree / f"directory {mode:o}").chmod(mode)
    require_same(repository, tree, tmp_path / "out")


@pytest.mark.skipif(not IS_ROOT, reason="owners other than oneself need root")
def test_owners_are_numbers(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """Set-user-id and file capabilities outlive the change of owner."""
    for number in (1, 65533, 65534, 65535, 2**31 - 1, 2**31, 2**32 - 2):
        for make in (Path.mkdir, Path.touch, lambda path: path.symlink_to("x"), os.mkfifo):
            path = tree / f"{number} {len(list(tree.iterdir()))}"
            make(path)  # type: ignore[operator]
            os.chown(path, number, 2**32 - 2 - number, follow_symlinks=False)
        (tree / f"{number} program").write_bytes(b"#!")
        os.chown(tree / f"{number} program", number, number)
        (tree / f"{number} program").chmod(0o6711)
        os.setxattr(
            tree / f"{number} program", "security.capability", bytes.fromhex("01000002" + "00200000" + "00" * 12)
        )
    os.chown(tree, 2**31 + 5, 7)
    require_same(repository, tree, tmp_path / "out")


def test_the_root_directory_itself(tree: Path, repository: Repository, tmp_path: Path) -> None:
    (tree / "file").touch()
    try:
        os.setxattr(tree, "user.root", b"r" * 3000)
        os.setxattr(tree, "system.posix_acl_default", ACCESS)
        os.setxattr(tree, "system.posix_acl_access", ACCESS)
    except OSError as error:
        assert error.errno in (errno.ENOTSUP, errno.EPERM)  # noqa: PT017 — a file system without attributes
    tree.chmod(stat.S_IMODE(tree.stat().st_mode) | stat.S_ISGID | stat.S_ISVTX)
    os.utime(tree, ns=(5, -7 * SECOND + 1))
    require_same(repository, tree, tmp_path / "out")


def test_acls_with_special_bits_and_without_read_permission(tree: Path, repository: Repository, tmp_path: Path) -> None:
    for name, mode in (("file", 0o6755), ("closed", 0o200 if not IS_ROOT else 0o000)):
        (tree / name).write_bytes(b"" if name == "closed" else b"x")
        (tree / name).chmod(mode)
        try:
            os.setxattr(tree / name, "system.posix_acl_access", ACCESS)
        except OSError:
            pytest.skip("no ACLs here")
    (tree / "directory").mkdir()
    os.setxattr(tree / "directory", "system.posix_acl_access", ACCESS)
    os.setxattr(tree / "directory", "system.posix_acl_default", ACCESS)
    (tree / "directory").chmod(0o3770)
    # What is made there inherits; what was there before did not.
    (tree / "directory" / "inherited").touch()
    (tree / "directory" / "moved in").write_bytes(b"m")
    os.removexattr(tree / "directory" / "moved in", "system.posix_acl_access")
    require_same(repository, tree, tmp_path / "out")


@pytest.mark.skipif(not IS_ROOT, reason="devices and these attributes need root")
def test_devices_and_attributes_of_roots(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """0:0 is what an overlay marks deletions with."""
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        for major, minor in ((0, 0), (1, 3), (255, 255), (256, 65536), (4095, 2**20 - 1)):
            os.mknod(tree / f"{kind} {major} {minor}", kind | 0o640, os.makedev(major, minor))
    for path in (tree / f"{stat.S_IFCHR} 0 0", tree / "file", tree / "link", tree / "directory", tree / "fifo"):
        makers: dict[str, Callable[[Path], object]] = {
            "file": Path.touch, "link": lambda path: path.symlink_to("x"), "directory": Path.mkdir, "fifo": os.mkfifo,
        }  # fmt: skip
        makers.get(path.name, lambda _: None)(path)
        for name in ("trusted.overlay.opaque", "security.ours"):
            os.setxattr(path, name, b"y\0", follow_symlinks=False)
    require_same(repository, tree, tmp_path / "out")


@pytest.fixture(params=["the temporary directory", "/dev/shm"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory on each kind of file system that is at hand: each holds other times."""
    if request.param != "/dev/shm":
        yield tmp_path
        return
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK) or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other file system")
    own = shared / f"syncova-test-{os.getpid()}"
    own.mkdir()
    yield own
    for path in sorted(own.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    own.rmdir()


def test_times_of_all_ages(place: Path, repository: Repository) -> None:
    """Before 1970, after 2038, 2262 and 2446, in ns; of links too, and of directories after all that lies in them."""
    tree = place / "tree"
    tree.mkdir()
    years = (-1970, -400, -69, -1, 67, 70, 291, 293, 400, 476, 2000)
    instants = [year * 31_557_600 * SECOND + 123_456_789 for year in years] + [-1, 0, 1, 2**63 - 1, 2**63, 2**64]
    for number, ns in enumerate(instants):
        for name, make in (("f", Path.touch), ("d", Path.mkdir), ("l", lambda path: path.symlink_to("x"))):
            make(tree / f"{name}{number}")
            os.utime(tree / f"{name}{number}", ns=(5, ns), follow_symlinks=False)
        (tree / f"d{number}" / "inside").touch()
        os.utime(tree / f"d{number}", ns=(5, ns))
    os.utime(tree, ns=(5, 2**63 + 5))
    held = [path.lstat().st_mtime_ns for path in tree.iterdir()]
    assert min(held) < -(10**18) < 2**63 < max(held)
    assert len(set(held)) > 12
    require_same(repository, tree, place / "out")


SPARSE: dict[str, tuple[list[tuple[int, bytes]], int]] = {
    "hole at the start": ([(3 * HOLE, b"x" * 10)], 3 * HOLE + 10),
    "hole in the middle": ([(0, b"a"), (5 * HOLE, b"z")], 5 * HOLE + 1),
    "hole at the end": ([(0, b"a" * 5000)], 4 * HOLE),
    "all hole": ([], 3 * HOLE + 1),
    "one byte of nothing": ([], 1),
    "a small hole": ([(8192, b"x")], 8193),
    "a page and a hole": ([(0, b"p" * 4096)], 4097),
    "alternating": ([(number * 2 * HOLE, b"%d" % number) for number in range(8)], 16 * HOLE),
    "a chunk, a hole, a chunk": ([(0, pattern(5 * HOLE)), (8 * HOLE, pattern(HOLE, 3))], 9 * HOLE),
    "zeros at a border": ([(0, pattern(HOLE)), (HOLE, bytes(HOLE)), (3 * HOLE, b"e")], 4 * HOLE),
}


@pytest.mark.parametrize("name", SPARSE)
def test_holes(name: str, tree: Path, repository: Repository, tmp_path: Path) -> None:
    parts, size = SPARSE[name]
    with open(tree / "sparse", "wb") as file:
        file.truncate(size)
        for offset, data in parts:
            file.seek(offset)
            file.write(data)
        os.fsync(file.fileno())
    require_same(repository, tree, tmp_path / "out")
    extents = entry_of(repository, b"sparse").extents or ()
    assert sum(extent for extent in extents if isinstance(extent, int)) <= size
    before, after = ((path / "sparse").stat().st_blocks for path in (tree, tmp_path / "out"))
    assert after <= before + 16


def test_allocated_and_never_written_is_a_hole(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """Room that a database keeps: it reads as zeros, and is not stored."""
    with open(tree / "reserved", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 20 * HOLE)
        file.write(b"head")
    require_same(repository, tree, tmp_path / "out")
    assert sum(isinstance(extent, bytes) for extent in entry_of(repository, b"reserved").extents or ()) == 1


def test_zeros_that_were_written_come_back_as_a_hole(tree: Path, repository: Repository, tmp_path: Path) -> None:
    """The content is the same, in fewer blocks: docs/sources.md says so."""
    with open(tree / "zeros", "wb") as file:
        file.write(b"head" + bytes(20 * HOLE))
        os.fsync(file.fileno())
    before = (tree / "zeros").stat().st_blocks
    require_same(repository, tree, tmp_path / "out")
    assert any(isinstance(extent, int) for extent in entry_of(repository, b"zeros").extents or ())
    assert (tmp_path / "out" / "zeros").stat().st_blocks < before
