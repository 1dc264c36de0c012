"""What is known of an object by looking at it, without opening it.

Owns the shape of it: the kernel's own answer has it, and so has what another process passes on.
"""

import os
from typing import Protocol

import msgspec


class Status(Protocol):
    """The fields of `os.stat_result` that a walk and a comparison need, with their names and units there."""

    @property
    def st_mode(self) -> int:
        """Type and permissions."""

    @property
    def st_ino(self) -> int:
        """Number of the inode."""

    @property
    def st_dev(self) -> int:
        """Device of the file system."""

    @property
    def st_nlink(self) -> int:
        """How many names it has."""

    @property
    def st_uid(self) -> int:
        """Owner."""

    @property
    def st_gid(self) -> int:
        """Group."""

    @property
    def st_size(self) -> int:
        """Bytes of content."""

    @property
    def st_mtime_ns(self) -> int:
        """Last change of the content, nanoseconds since the epoch."""

    @property
    def st_ctime_ns(self) -> int:
        """Last change of the inode, nanoseconds since the epoch."""

    @property
    def st_rdev(self) -> int:
        """Which device a device file stands for."""

    @property
    def st_blocks(self) -> int:
        """Room that is allocated, in 512 bytes."""


class Look(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A name in a directory and its Status, as one process tells them another; `entered`: its listing is to come."""

    name: bytes
    entered: bool
    st_mode: int
    st_ino: int
    st_dev: int
    st_nlink: int
    st_uid: int
    st_gid: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int
    st_rdev: int
    st_blocks: int


def look_at(name: bytes, status: os.stat_result, *, entered: bool) -> Look:
    """Return what `status` says, to be told."""
    return Look(
        name,
        entered,
        status.st_mode,
        status.st_ino,
        status.st_dev,
        status.st_nlink,
        status.st_uid,
        status.st_gid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_rdev,
        status.st_blocks,
    )
