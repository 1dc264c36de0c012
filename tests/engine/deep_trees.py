"""Trees deeper than any path of the system reaches, and a comparison that goes down with them."""

import os
from pathlib import Path

from tests.engine.trees import DIRECTORY, pattern

STEP = b"deeper"


def build_deep(root: Path, depth: int, *, every: int = 100) -> None:
    """Make a chain of directories; every so often a file, a link, an empty sibling and a hard link of the first file.

    Directories get modes and times of their own.
    """
    root.mkdir()
    (root / "first").write_bytes(b"linked at every depth")
    top = os.open(root, DIRECTORY)
    here = os.dup(top)
    for number in range(depth):
        os.mkdir(STEP, 0o700, dir_fd=here)
        if number % every == 0:
            _furnish(top, here, number)
        below = os.open(STEP, DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(top)
    for number in range(depth + 1):
        # From the bottom up: making an object has changed the time of its directory.
        if number % every == 0:
            os.chmod(here, 0o1755)
        os.utime(here, ns=(5, number))
        above = os.open(b"..", DIRECTORY, dir_fd=here)
        os.close(here)
        here = above
    os.close(here)


def _furnish(top: int, here: int, number: int) -> None:
    descriptor = os.open(b"file", os.O_CREAT | os.O_WRONLY, 0o640, dir_fd=here)
    os.write(descriptor, pattern(1000, number))
    os.close(descriptor)
    os.symlink(b"../" * 1000 + b"x", b"link", dir_fd=here)
    os.mkdir(b"sibling", dir_fd=here)
    os.link(b"first", b"hard link", src_dir_fd=top, dst_dir_fd=here)


def facts_down(root: Path) -> list[tuple[object, ...]]:
    """Return what lies in each directory of the chain, from the top down."""
    found: list[tuple[object, ...]] = []
    here = os.open(root, DIRECTORY)
    first = os.stat(b"first", dir_fd=here).st_ino if os.access(b"first", os.F_OK, dir_fd=here) else -1
    while True:
        status = os.fstat(here)
        names = sorted(map(os.fsencode, os.listdir(here)))
        found.append((status.st_mode, status.st_mtime_ns, [_fact(here, name, first) for name in names]))
        if STEP not in names:
            os.close(here)
            return found
        below = os.open(STEP, DIRECTORY, dir_fd=here)
        os.close(here)
        here = below


def _fact(here: int, name: bytes, first: int) -> tuple[object, ...]:
    status = os.stat(name, dir_fd=here, follow_symlinks=False)
    content: bytes = b""
    if name in (b"first", b"file", b"hard link"):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=here)
        content = os.read(descriptor, 100_000)
        os.close(descriptor)
    elif name == b"link":
        content = os.readlink(name, dir_fd=here)
    return name, status.st_mode, status.st_uid, status.st_mtime_ns, status.st_ino == first, content
