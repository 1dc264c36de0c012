"""Directories of the target that their own mode kept us out of, and that we opened up for the time of the restore.

Owns which those are and the modes they had. Those that were like the backup's are marked as unfinished, so that after
a kill the next restore makes them so again; others a kill leaves open to their owner.
"""

import contextlib
import os
import stat

from repositories.engine.metadata.apply import chmod_unopened
from repositories.engine.restore.target import closed_to_us, marked_mode
from repositories.engine.source.descent import Descent


class Widened:
    """Used by one thread. Paths are relative to the target; "" is the target itself."""

    def __init__(self) -> None:
        self._modes: dict[bytes, int] = {}

    def remember(self, path: bytes, mode: int) -> None:
        """The directory at `path` had `mode` and is open to us now."""
        self._modes[path] = mode

    def open_up(self, directory: int, path: bytes, name: bytes, status: os.stat_result, *, mark: bool) -> None:
        """Let ourselves into a directory if it is ours and closed to us. Raises OSError."""
        if closed_to_us(status):
            mode = stat.S_IMODE(status.st_mode)
            opened = mode | stat.S_IRWXU
            chmod_unopened(directory, name, marked_mode(opened) if mark else opened)
            self.remember(path, mode)

    def take(self, path: bytes) -> int | None:
        """Return the mode that a directory had if it was opened up, and forget it."""
        return self._modes.pop(path, None)

    def put_back(self, root: int) -> None:
        """Give what is left its mode back, the innermost first: the restore ends early."""
        for path in sorted(self._modes, reverse=True):
            with contextlib.suppress(OSError):
                _chmod_at(root, path, self._modes[path])
        self._modes.clear()


def _chmod_at(root: int, path: bytes, mode: int) -> None:
    descent = Descent(os.dup(root))
    try:
        descriptor = descent.open_from_root(path.split(b"/") if path else [])
    finally:
        descent.close()
    try:
        os.chmod(descriptor, mode)
    finally:
        os.close(descriptor)
