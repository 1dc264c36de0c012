"""Makes room under a name for what a restore puts there.

Owns what may go for that: anything that is no directory, an empty directory, and a full one only when deleting was
asked for and nothing in it must stay. The room is made directly before it is taken, never before the new object is
complete.
"""

import os
import stat

from repositories.engine.restore.reasons import explained
from repositories.engine.restore.removing import Remover


class Room:
    """For one restore; safe in several threads. Without a remover, full directories stay."""

    def __init__(self, remover: Remover | None = None) -> None:
        self._remover = remover

    def possible(self, directory: int, path: bytes, status: os.stat_result) -> bool:
        """Return whether the object at `path`, which lies in the open `directory`, could give way. Raises OSError."""
        if not stat.S_ISDIR(status.st_mode) or self._is_empty(directory, os.path.basename(path)):
            return True
        return self._remover is not None and self._remover.would_go(directory, path)

    def foresee(self, directory: int, path: bytes, status: os.stat_result) -> bool:
        """As `possible`, and counts what would go for it. Raises OSError."""
        if not self.possible(directory, path, status):
            return False
        if self._remover is None or not stat.S_ISDIR(status.st_mode):
            return True
        if not self._is_empty(directory, os.path.basename(path)):
            self._remover.remove(directory, path)
        return True

    def replace(self, directory: int, temporary: bytes, path: bytes) -> None:
        """Put a complete object in the place of what is at `path`, which lies in `directory`. Raises OSError."""
        name = os.path.basename(path)
        self.make(directory, path)
        try:
            os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            raise explained(error, directory, name) from error

    def make(self, directory: int, path: bytes) -> None:
        """Take away the directory at `path`, if there is one; the rest is renamed over. Raises OSError."""
        name = os.path.basename(path)
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(status.st_mode):
            if self._remover is not None:
                self._remover.loses_a_name(status)
            return
        if self._remover is not None and not self._is_empty(directory, name):
            self._remover.remove(directory, path)
            return
        os.rmdir(name, dir_fd=directory)

    def _is_empty(self, directory: int, name: bytes) -> bool:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        except OSError:
            return False
        try:
            with os.scandir(descriptor) as found:
                return next(found, None) is None
        finally:
            os.close(descriptor)
