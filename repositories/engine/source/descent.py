"""A line of directories from a root down, held by descriptors, of any depth.

Owns opening one component at a time without following links, and the way back up. Keeps at most `OPEN_LIMIT`
descriptors: one that was closed is opened again through `..` and proven to be the same directory.
"""

import errno
import os

import msgspec

OPEN_LIMIT = 64
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Frame(msgspec.Struct):
    name: bytes
    device: int
    inode: int
    descriptor: int


class Descent:
    """A stack of open directories. Owns `root_descriptor` from the start. Not thread safe."""

    def __init__(self, root_descriptor: int) -> None:
        status = os.fstat(root_descriptor)
        self._frames = [_Frame(b"", status.st_dev, status.st_ino, root_descriptor)]
        self._lost = 0

    @property
    def descriptor(self) -> int:
        """The descriptor of the directory that the stack stands in."""
        return self._frames[-1].descriptor

    @property
    def depth(self) -> int:
        """How many directories lie between root and here; 0 at the root."""
        return len(self._frames) - 1

    @property
    def identity(self) -> tuple[int, int]:
        """(st_dev, st_ino) of the directory that the stack stands in."""
        return self._frames[-1].device, self._frames[-1].inode

    def names(self) -> list[bytes]:
        """Return the components from the root to here."""
        return [frame.name for frame in self._frames[1:]]

    def open_ones(self) -> list[int]:
        """Return the descriptors that are open."""
        return [frame.descriptor for frame in self._frames if frame.descriptor >= 0]

    def down(self, name: bytes) -> int:
        """Enter a directory; return its descriptor, which the stack owns. Raises OSError and stays where it is."""
        above = self._frames[-1]
        if above.descriptor < 0:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=above.descriptor)
        try:
            status = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self._frames.append(_Frame(name, status.st_dev, status.st_ino, descriptor))
        self._close_far_ones()
        return descriptor

    def up(self) -> None:
        """Leave a directory. Where the way back is lost (it was moved away), the next `down` raises ESTALE."""
        left = self._frames.pop()
        self._lost = max(0, self._lost - 1)
        above = self._frames[-1]
        if above.descriptor < 0:
            above.descriptor = self._way_back(left, above)
        if left.descriptor >= 0:
            os.close(left.descriptor)

    def open_from_root(self, names: list[bytes]) -> int:
        """Open a directory by its way from the root, following no link; the caller closes it. Raises OSError."""
        descriptor = os.dup(self._frames[0].descriptor)
        for name in names:
            try:
                below = os.open(name, DIRECTORY_FLAGS, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor

    def go_to(self, names: list[bytes]) -> None:
        """Stand in the directory of this way from the root, going up and down as little as possible.

        Raises OSError, and stands there nevertheless: lost, so that each `down` raises; the next `go_to` tries anew.
        """
        while self._lost:
            self._frames.pop()
            self._lost -= 1
        shared = 0
        for frame, name in zip(self._frames[1:], names, strict=False):
            if frame.name != name:
                break
            shared += 1
        while self.depth > shared:
            self.up()
        for place in range(shared, len(names)):
            try:
                self.down(names[place])
            except OSError:
                self._lost = len(names) - place
                self._frames += [_Frame(name, -1, -1, -1) for name in names[place:]]
                raise

    def close(self) -> None:
        """Close all descriptors."""
        while self._frames:
            frame = self._frames.pop()
            if frame.descriptor >= 0:
                os.close(frame.descriptor)

    def _close_far_ones(self) -> None:
        # The root stays open: from it, everything can be found again.
        far = len(self._frames) - OPEN_LIMIT
        if far > 0 and self._frames[far].descriptor >= 0:
            os.close(self._frames[far].descriptor)
            self._frames[far].descriptor = -1

    def _way_back(self, left: _Frame, above: _Frame) -> int:
        if left.descriptor >= 0:
            descriptor = _open_proven(b"..", left.descriptor, above)
            if descriptor >= 0:
                return descriptor
        return self._from_root(above)

    def _from_root(self, wanted: _Frame) -> int:
        descriptor = os.dup(self._frames[0].descriptor)
        for frame in self._frames[1:]:
            below = _open_proven(frame.name, descriptor, frame)
            os.close(descriptor)
            if below < 0 or frame is wanted:
                return below
            descriptor = below
        os.close(descriptor)
        return -1


def _open_proven(name: bytes, directory: int, expected: _Frame) -> int:
    """Open `name` and return its descriptor if it is the expected directory, else -1."""
    try:
        descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
    except OSError:
        return -1
    status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) == (expected.device, expected.inode):
        return descriptor
    os.close(descriptor)
    return -1
