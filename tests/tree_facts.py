"""All that a restore must bring back, so that two trees can be compared without asking the code under test."""

import os
import stat
from pathlib import Path


def facts(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Return all that a restore must bring back, by relative path."""
    found: dict[bytes, tuple[object, ...]] = {}
    top = os.fsencode(root)
    inodes: dict[int, int] = {}
    for directory, names, files in os.walk(top):
        for name in sorted([*names, *files]):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = read_content(path) if kind == stat.S_IFREG else None
            target = os.readlink(path) if kind == stat.S_IFLNK else None
            attributes = {each: os.getxattr(path, each, follow_symlinks=False) for each in _attributes(path)}
            size = status.st_size if kind == stat.S_IFREG else 0
            times = (status.st_mode, status.st_uid, status.st_gid, size, status.st_mtime_ns)
            links = inodes.setdefault(status.st_ino, len(inodes)) if status.st_nlink > 1 and content else None
            found[os.path.relpath(path, top)] = (*times, content, target, attributes, links is not None)
    return found


def read_content(path: bytes) -> bytes:
    """Return what a file holds; an empty one need not be readable."""
    return Path(os.fsdecode(path)).read_bytes() if os.stat(path).st_size else b""


def _attributes(path: bytes) -> list[str]:
    return [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
