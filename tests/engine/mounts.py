"""Mounting in tests: in a child process with mounts of its own, which nobody else sees and which end with it."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.engine.users import in_a_child

LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEW_NAMESPACE, _PRIVATE_RECURSIVE, _DETACH = 0x00020000, 0x44000, 2
_BIND, _REMOUNT = 0x1000, 0x20
_T = TypeVar("_T")


def with_mounts(act: Callable[[], _T]) -> _T:
    """Return what `act` returns where it may mount; skips the test where this user may not."""

    def run() -> tuple[_T] | None:
        codes = (
            LIBC.unshare(_CLONE_NEW_NAMESPACE),
            LIBC.mount(b"none", b"/", None, _PRIVATE_RECURSIVE, None),
        )
        return (act(),) if codes == (0, 0) else None

    told = in_a_child(run)
    if told is None:
        pytest.skip("this user may not mount")
    return told[0]


def mount_tmpfs(point: Path) -> None:
    _mount(b"none", point, b"tmpfs", 0)


def remount_tmpfs(point: Path, size: int) -> None:
    """Give it so many bytes of room in all."""
    code = LIBC.mount(b"none", os.fsencode(point), None, _REMOUNT, f"size={size}".encode())
    assert code == 0, os.strerror(ctypes.get_errno())


def mount_proc(point: Path) -> None:
    _mount(b"none", point, b"proc", 0)


def mount_overlay(lower: Path, upper: Path, point: Path) -> bool:
    """Mount two directories as one, read-only; False where this kernel cannot."""
    layers = b"lowerdir=" + os.fsencode(upper) + b":" + os.fsencode(lower)
    ended: int = LIBC.mount(b"none", os.fsencode(point), b"overlay", 0, layers)
    return ended == 0


def bind(directory: Path, point: Path) -> None:
    _mount(os.fsencode(directory), point, None, _BIND)


def mount_image(image: Path, point: Path) -> None:
    """Mount the ext4 file system in a file; its loop device goes with the mount."""
    subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=True, capture_output=True)


def make_image(image: Path) -> Path:
    """Make a file with an empty ext4 file system; skips the test where nothing can make or mount one."""
    if shutil.which("mkfs.ext4") is None or not Path("/dev/loop-control").exists():
        pytest.skip("no mkfs.ext4 or no loop devices here")
    with image.open("wb") as file:
        file.truncate(4 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    return image


def unmount(path: Path) -> None:
    """Unmount lazily, so that what is open can be read on."""
    assert LIBC.umount2(os.fsencode(path), _DETACH) == 0


def _mount(origin: bytes, point: Path, kind: bytes | None, flags: int) -> None:
    code = LIBC.mount(origin, os.fsencode(point), kind, flags, None)
    assert code == 0, os.strerror(ctypes.get_errno())
