"""Loop devices for tests: real block devices over files, attached with their own ioctls, so that no tool is needed."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

LOOP_SET_FD, LOOP_CLR_FD, LOOP_SET_CAPACITY, LOOP_CTL_GET_FREE = 0x4C00, 0x4C01, 0x4C07, 0x4C82


@contextlib.contextmanager
def attached(image: Path, *, writable: bool = False) -> Iterator[Path]:
    """Attach `image` as a block device; skips the test where that is not possible."""
    device = _attach(image, os.O_RDWR if writable else os.O_RDONLY)
    try:
        yield device
    finally:
        _control(device, LOOP_CLR_FD)


def resize(device: Path) -> None:
    """Let the device take the size that its file has now."""
    _control(device, LOOP_SET_CAPACITY)


def _attach(image: Path, flags: int) -> Path:
    try:
        control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"no loop devices here: {error.strerror}")
    file = os.open(image, flags | os.O_CLOEXEC)
    try:
        for _ in range(20):
            device = Path(f"/dev/loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}")
            with contextlib.suppress(_TakenError):
                _set(device, flags, file)
                return device
    finally:
        os.close(file)
        os.close(control)
    pytest.skip("all loop devices are taken")


class _TakenError(Exception):
    """Somebody else was faster."""


def _set(device: Path, flags: int, file: int) -> None:
    try:
        opened = os.open(device, flags | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"loop devices cannot be opened: {error.strerror}")
    try:
        fcntl.ioctl(opened, LOOP_SET_FD, file)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise _TakenError from error
        pytest.skip(f"loop devices cannot be attached: {error.strerror}")
    finally:
        os.close(opened)


def _control(device: Path, command: int) -> None:
    opened = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(opened, command, 0)
    finally:
        os.close(opened)
