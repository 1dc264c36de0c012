"""Random trees: steps that make, change, move and remove things, and what is left of a tree by an exclude rule.

Owns the strategies; a step that is impossible in its tree is left.
"""

import os
import shutil
import stat
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.engine.trees import IS_ROOT, Description, pattern

NAMES = [b"a", b"b", b"a!", b"\xff", b"\n", b"c" * 200, b" ", b"a\xe2\x80\xae"]
KEPT_OUT = b"b"
"""What an exclude rule leaves out, where there is one."""
TIMES = st.integers(-(10**18), 3 * 10**18)
ACL = bytes.fromhex("0200000001000700ffffffff02000500e803000004000500ffffffff10000700ffffffff20000500ffffffff")

Step = tuple[object, ...]
path = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)
size = st.sampled_from([0, 1, 5, 300, 70_000, 300_000, 1_500_000])
attribute = st.sampled_from([b"user.a", b"user.\xff", b"system.posix_acl_access", b"system.posix_acl_default"])
steps: list[st.SearchStrategy[Any]] = [
    st.tuples(st.just("file"), path, size, st.integers(0, 3)),
    st.tuples(st.just("put back"), path, st.integers(0, 3)),
    st.tuples(st.just("patch"), path, st.integers(0, 2_000_000), size),
    st.tuples(st.just("sparse"), path, st.integers(1, 3_000_000)),
    st.tuples(st.just("directory"), path),
    st.tuples(st.just("link"), path, st.sampled_from([b"a", b"../x", b"/etc/passwd", b"\xff", b"t" * 4095])),
    st.tuples(st.just("fifo"), path),
    st.tuples(st.just("hard"), path, path),
    st.tuples(st.just("mode"), path, st.sampled_from([0o600, 0o755, 0o4711, 0o2500, 0o1777])),
    st.tuples(st.just("time"), path, TIMES),
    st.tuples(st.just("attribute"), path, attribute, st.sampled_from([b"", b"\0v", b"x" * 900])),
    st.tuples(st.just("no attributes"), path),
    st.tuples(st.just("remove"), path),
    st.tuples(st.just("rename"), path, path),
    st.tuples(st.just("become"), path, st.sampled_from(["file", "directory", "link", "fifo"])),
    st.tuples(st.just("mode"), st.just(()), st.sampled_from([0o700, 0o755, 0o2750])),
    st.tuples(st.just("attribute"), st.just(()), attribute, st.just(b"root")),
]
if IS_ROOT:
    steps += [
        st.tuples(st.just("device"), path, st.sampled_from([(0, 0), (1, 3), (4095, 65536)])),
        st.tuples(st.just("owner"), path, st.sampled_from([0, 1, 65534, 2**32 - 2])),
    ]
step = st.one_of(*steps)


def act(root: bytes, what: Step) -> None:
    """Do one step; what is impossible in this tree is left."""
    kind, parts, *rest = what
    target = os.path.join(root, *parts)  # type: ignore[misc]
    try:
        if kind not in ("remove", "put back", "no attributes"):
            os.makedirs(os.path.dirname(target), exist_ok=True)
        _act(root, str(kind), target, rest)
    except OSError:
        return


def _act(root: bytes, kind: str, target: bytes, rest: list[Any]) -> None:
    actions: dict[str, Callable[..., object]] = {
        "file": lambda length, seed: _write(target, os.O_TRUNC, pattern(length, seed)),
        "put back": lambda seed: _put_back(target, seed),
        "patch": lambda offset, length: _write(target, 0, pattern(length, 7), offset=offset),
        "sparse": lambda length: _write(target, os.O_APPEND, b"", length=length),
        "directory": lambda: os.mkdir(target),
        "link": lambda to: os.symlink(to, target),
        "fifo": lambda: os.mkfifo(target),
        "device": lambda number: os.mknod(target, stat.S_IFCHR | 0o640, os.makedev(*number)),
        "owner": lambda number: os.chown(target, number, number, follow_symlinks=False),
        "hard": lambda other: os.link(os.path.join(root, *other), target, follow_symlinks=False),
        "mode": lambda mode: _set_mode(target, mode),
        "time": lambda ns: os.utime(target, ns=(ns, ns), follow_symlinks=False),
        "attribute": lambda name, value: _set_attribute(target, name, value),
        "no attributes": lambda: _remove_attributes(target),
        "rename": lambda other: os.rename(os.path.join(root, *other), target),
        "remove": lambda: _remove(target),
        "become": lambda other: _become(root, target, other),
    }
    actions[kind](*rest)


def _write(target: bytes, flags: int, data: bytes, *, offset: int = 0, length: int | None = None) -> None:
    # O_NONBLOCK: where a FIFO stands by now, this must fail, not wait for a reader.
    if os.path.lexists(target) and not stat.S_ISREG(os.lstat(target).st_mode):
        return
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | flags, 0o644)
    with open(descriptor, "wb") as file:
        file.seek(offset)
        file.write(data)
        if length is not None:
            file.truncate(length)


def _put_back(target: bytes, seed: int) -> None:
    before = os.lstat(target)
    _write(target, 0, pattern(before.st_size, seed))
    os.utime(target, ns=(5, before.st_mtime_ns), follow_symlinks=False)


def _set_mode(target: bytes, mode: int) -> None:
    if not os.path.islink(target):
        os.chmod(target, mode | (0o700 if os.path.isdir(target) else 0o400))


def _set_attribute(target: bytes, name: bytes, value: bytes) -> None:
    if not os.path.islink(target):
        os.setxattr(target, name, ACL if name.startswith(b"system.") else value)


def _remove_attributes(target: bytes) -> None:
    for name in os.listxattr(target, follow_symlinks=False):
        os.removexattr(target, name, follow_symlinks=False)


def _remove(target: bytes) -> None:
    if os.path.isdir(target) and not os.path.islink(target):
        shutil.rmtree(target)
    else:
        os.unlink(target)


def _become(root: bytes, target: bytes, other: str) -> None:
    """Put an object of another type in the place of one, under the same times."""
    before = os.lstat(target)
    _remove(target)
    arguments: dict[str, list[Any]] = {"file": [before.st_size % 10**6, 9], "link": [b"became"]}
    _act(root, other, target, arguments.get(other, []))
    os.utime(target, ns=(5, before.st_mtime_ns), follow_symlinks=False)


def without(found: Description, name: bytes) -> Description:
    """Return what a backup holds of a tree when a rule leaves out this name, wherever it is."""
    kept = {each: dict(facts) for each, facts in found.items() if name not in each.split(b"/")}
    members: dict[object, list[bytes]] = {}
    for each, facts in kept.items():
        if "group" in facts:
            members.setdefault(facts["group"], []).append(each)
    # Groups are named after the first path that is met, as `describe` does.
    for paths in members.values():
        for each in paths:
            if len(paths) == 1:
                del kept[each]["group"]
            else:
                kept[each]["group"] = paths[0]
    return kept
