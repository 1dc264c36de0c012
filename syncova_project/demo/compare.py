"""Comparing two trees by everything that lstat, readlink, listxattr and the bytes tell (A17).

Owns the demo's proof: it shares no code with the engine on purpose, so that one mistake cannot hide another.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = 1 << 20


@dataclass(slots=True)
class Comparison:
    """What a comparison found; `equal` ⇔ nothing but privileged or changed entries differ."""

    entries: int = 0
    bytes_compared: int = 0
    differences: list[tuple[bytes, str]] = field(default_factory=list)
    privileged: list[tuple[bytes, str]] = field(default_factory=list)
    changed: list[bytes] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """True when no difference remains that has no allowed reason."""
        return not self.differences


def compare_trees(source: bytes, restored: bytes, *, taken_at_ns: int, privileged: bool) -> Comparison:
    """Compare `restored` with `source`; times in ns since the epoch, paths as bytes.

    Entries whose ctime in the source is later than `taken_at_ns` changed meanwhile and are only listed.
    Without `privileged`, another owner is listed apart: only root may set it.
    """
    result = Comparison()
    left, right = dict(_entries(source)), dict(_entries(restored))
    for path in sorted(left.keys() | right.keys()):
        result.entries += 1
        here, there = left.get(path), right.get(path)
        changed_meanwhile = here is not None and here.st_ctime_ns > taken_at_ns
        found = _differences(source, restored, path, here, there, result)
        if found and (changed_meanwhile or (here is None and _parent_changed(left, path, taken_at_ns))):
            result.changed.append(path)
            continue
        for what in found:
            owner_only = what.startswith("owner") and not privileged
            (result.privileged if owner_only else result.differences).append((path, what))
    if _link_groups(left) != _link_groups(right) and not result.changed:
        result.differences.append((b".", "hard links differ"))
    return result


def _parent_changed(left: dict[bytes, os.stat_result], path: bytes, taken_at_ns: int) -> bool:
    parent = left.get(os.path.dirname(path) or b".")
    return parent is not None and parent.st_ctime_ns > taken_at_ns


def _entries(root: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    yield b".", os.lstat(root)
    if not stat.S_ISDIR(os.lstat(root).st_mode):
        return
    waiting = [b""]
    while waiting:
        directory = waiting.pop()
        with os.scandir(os.path.join(root, directory) if directory else root) as listing:
            for entry in listing:
                path = os.path.join(directory, entry.name) if directory else entry.name
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISSOCK(status.st_mode):
                    continue  # a socket is a note, never part of a backup
                yield path, status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)


def _differences(
    source: bytes,
    restored: bytes,
    path: bytes,
    here: os.stat_result | None,
    there: os.stat_result | None,
    result: Comparison,
) -> list[str]:
    if here is None or there is None:
        return ["only in the restored tree" if here is None else "missing in the restored tree"]
    if stat.S_IFMT(here.st_mode) != stat.S_IFMT(there.st_mode):
        return ["type differs"]
    found = _status_differences(here, there)
    left, right = (root if path == b"." else os.path.join(root, path) for root in (source, restored))
    if stat.S_ISLNK(here.st_mode):
        if os.readlink(left) != os.readlink(right):
            found.append("link target differs")
    elif stat.S_ISREG(here.st_mode) and not _same_content(left, right, result):
        found.append("content differs")
    if _xattrs(left) != _xattrs(right):
        found.append("extended attributes differ")
    return found


def _status_differences(here: os.stat_result, there: os.stat_result) -> list[str]:
    found = []
    if here.st_mode != there.st_mode:
        found.append(f"mode {there.st_mode:o} instead of {here.st_mode:o}")
    if (here.st_uid, here.st_gid) != (there.st_uid, there.st_gid):
        found.append(f"owner {there.st_uid}:{there.st_gid} instead of {here.st_uid}:{here.st_gid}")
    if here.st_mtime_ns != there.st_mtime_ns:
        found.append(f"mtime {there.st_mtime_ns} instead of {here.st_mtime_ns} ns")
    if here.st_rdev != there.st_rdev:
        found.append("device number differs")
    if stat.S_ISREG(here.st_mode) and here.st_size != there.st_size:
        found.append(f"size {there.st_size} instead of {here.st_size}")
    return found


def _same_content(left: bytes, right: bytes, result: Comparison) -> bool:
    with open(left, "rb", buffering=0) as one, open(right, "rb", buffering=0) as two:
        while True:
            first, second = one.read(_BLOCK), two.read(_BLOCK)
            if first != second:
                return False
            if not first:
                return True
            result.bytes_compared += len(first)


def _xattrs(path: bytes) -> dict[str, bytes]:
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return {}  # the file system knows none; a difference would show on the other side
    return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}


def _link_groups(entries: dict[bytes, os.stat_result]) -> set[frozenset[bytes]]:
    groups: dict[tuple[int, int], set[bytes]] = {}
    for path, status in entries.items():
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            groups.setdefault((status.st_dev, status.st_ino), set()).add(path)
    return {frozenset(paths) for paths in groups.values() if len(paths) > 1}
