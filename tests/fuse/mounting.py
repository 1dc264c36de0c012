"""Mounts the test file system, and takes it away again whatever happens in between.

Owns mount(2), the server's process, and the end of both. Skips the test where that is not possible.
"""

import contextlib
import ctypes
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

TYPE: Final = "fuse.syncovatest"
_DETACH: Final = 2
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Mounted:
    """A mounted test file system."""

    path: Path
    server: "subprocess.Popen[str]"

    def switch(self, **switches: Any) -> None:
        """Set the switches; what is not given is off.

        Names: `folds`, `form`, `lowers`, `longest`, `refuses` (tests.fuse.tree.Spelling; those stay). Attributes:
        `owner` (uid, gid) of all that is made, `mode_mask`, `granularity_ns`, `time_range_s` (first, last), `largest`
        file, `sizes` {name: size that is told}, `renumbered` (what is added to inode numbers), `listed` names at
        a time. `faults`: each {op, errno | hangs, name, offset, fields, prefix, kind, times}; the first that concerns a
        request is what the kernel is told.
        """
        self._ask(switches)

    def held_back(self) -> int:
        """Return how many requests have met a fault that `hangs`."""
        return self._ask(None)

    def _ask(self, question: dict[str, Any] | None) -> int:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(question) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())


@contextlib.contextmanager
def mounted(path: Path, **switches: Any) -> Iterator[Mounted]:
    """Mount an empty test file system at `path`, which is made."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    path.mkdir(exist_ok=True)
    descriptor = _mount(path)
    try:
        server = _serve(descriptor)
    except BaseException:
        _unmount(path)
        raise
    finally:
        # The server holds the only descriptor now: when it is gone, nobody waits for its answers.
        os.close(descriptor)
    try:
        with server:
            try:
                mounted = Mounted(path, server)
                mounted.switch(**switches)
                yield mounted
            finally:
                server.kill()
    finally:
        _unmount(path)


def _mount(path: Path) -> int:
    try:
        descriptor = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"no /dev/fuse here: {error.strerror}")
    options = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
    if _libc.mount(b"syncovatest", os.fsencode(path), TYPE.encode(), 0, options.encode()):
        code = ctypes.get_errno()
        os.close(descriptor)
        pytest.skip(f"cannot mount: {os.strerror(code)}")
    return descriptor


def _serve(descriptor: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.fuse.serve", str(descriptor)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(descriptor,)
    )


def _unmount(path: Path) -> None:
    if _libc.umount2(os.fsencode(path), _DETACH) and ctypes.get_errno() not in (errno.EINVAL, errno.ENOENT):
        raise OSError(ctypes.get_errno(), f"cannot unmount {path}")
