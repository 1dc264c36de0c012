"""A block device that is backed up as one image: opened safely, read whole, and proven to have held still in size.

Owns what is a device and what ends its reading: an image with a part that could not be read is no backup. Nothing is
ever written, and nothing but a block device is ever opened.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from repositories.engine.display import show_path
from repositories.engine.errors import (
    ConfigurationError,
    SourceError,
    SourceMissingError,
    SourceUnreadableError,
    SourceVanishedError,
)

_READ_SIZE = 1024 * 1024
_KINDS = ((stat.S_ISREG, "a regular file"), (stat.S_ISDIR, "a directory"), (stat.S_ISCHR, "a character device"))


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """An open device: `path` as it was asked for, `number` its st_rdev, `size` in bytes at the opening."""

    path: bytes
    descriptor: int
    number: int
    size: int


def open_device(path: bytes) -> OpenDevice:
    """Open the block device at `path` (absolute; links are followed, as /dev/mapper has them). The caller closes it.

    Raises ConfigurationError (not absolute, no block device), SourceMissingError (not there, no medium in it),
    SourceError (cannot be opened).
    """
    if not path.startswith(b"/") or b"\0" in path:
        raise ConfigurationError(f"device {show_path(path)} is no absolute path", hint="give it from / on")
    try:
        descriptor = _open(path)
    except FileNotFoundError as error:
        raise SourceMissingError(
            f"device {show_path(path)} does not exist", hint="is it plugged in, is the volume active?"
        ) from error
    except OSError as error:
        raise SourceError(
            f"device {show_path(path)} cannot be opened: {error.strerror}",
            hint="reading a device needs root, or the group that owns it",
        ) from error
    size = os.lseek(descriptor, 0, os.SEEK_END)
    os.lseek(descriptor, 0, os.SEEK_SET)
    if not size:
        os.close(descriptor)
        raise SourceMissingError(
            f"device {show_path(path)} has a size of 0", hint="put a medium in it, or attach the file behind it"
        )
    return OpenDevice(path, descriptor, os.fstat(descriptor).st_rdev, size)


def _open(path: bytes) -> int:
    # Only looked at first: merely opening something else could block, rewind a tape, or start a watchdog.
    looked_at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _require_block_device(path, os.fstat(looked_at))
        return os.open(f"/proc/self/fd/{looked_at}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY)
    finally:
        os.close(looked_at)


def _require_block_device(path: bytes, status: os.stat_result) -> None:
    if stat.S_ISBLK(status.st_mode):
        return
    kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
    hint = "give files and directories with --path, an image of a disk too"
    raise ConfigurationError(f"{show_path(path)} is {kind}, not a block device", hint=hint)


class DeviceReader:
    """The content of a device as a stream. `taken` is told of each read after it. Use it with `with`."""

    def __init__(self, device: OpenDevice, taken: Callable[[int], None]) -> None:
        self._device = device
        self._taken = taken
        self._at = 0

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill part of `buffer`; 0 when all that the device held at the opening was read.

        Raises SourceUnreadableError (naming the offset), SourceVanishedError (it became shorter).
        """
        wanted = min(len(buffer), self._device.size - self._at, _READ_SIZE)
        if not wanted:
            return 0
        try:
            count = os.preadv(self._device.descriptor, [buffer[:wanted]], self._at)
        except OSError as error:
            raise SourceUnreadableError(
                f"device {show_path(self._device.path)} cannot be read at offset {self._at:,}: {error.strerror}",
                hint="nothing was backed up: an image with a gap restores to a broken system; check the device",
            ) from error
        if not count:
            raise SourceVanishedError(
                f"device {show_path(self._device.path)} ended at offset {self._at:,} while it was read; "
                f"it had {self._device.size:,} bytes",
                hint="make sure that nothing removes or shrinks it while it is backed up",
            )
        self._at += count
        self._taken(count)
        return count

    def finish(self) -> int:
        """Return by how many bytes the device has grown while it was read.

        Raises SourceVanishedError when it is gone, shorter, or its path leads to another device.
        """
        device = self._device
        try:
            now = os.stat(device.path)
        except OSError as error:
            raise SourceVanishedError(
                f"device {show_path(device.path)} vanished while it was read: {error.strerror}",
                hint="make sure that nothing removes it while it is backed up",
            ) from error
        size = os.lseek(device.descriptor, 0, os.SEEK_END)
        if not stat.S_ISBLK(now.st_mode) or now.st_rdev != device.number or size < device.size:
            raise SourceVanishedError(
                f"device {show_path(device.path)} was replaced or became shorter while it was read",
                hint="make sure that nothing changes it while it is backed up; a snapshot holds still",
            )
        return size - device.size

    def __enter__(self) -> "DeviceReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._device.descriptor)
