"""What a killed restore left under temporary names: found in directories that were there, and removed.

Owns which objects that are: by their name, ours by their owner (anybody's for root, who gives owners away), not held
by the backup under that very name, and in no directory in which another restore is at work. In a directory that is
only the way to something restored, the object must have been meant for a name that is restored now.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable

from repositories.engine.restore.publishing import is_temporary, is_temporary_of
from repositories.engine.restore.selection import Selected

Prepare = Callable[[int], None]


def claim(directory: int) -> None:
    """Show other restores that one is at work in an open directory, until the descriptor and its copies are closed."""
    with contextlib.suppress(OSError):
        fcntl.flock(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)


class Leavings:
    """Those of one restore's target. Used by one thread. Paths are relative to the target."""

    def __init__(self) -> None:
        self._found: dict[bytes, list[bytes]] = {}

    def look(self, directory: int | bytes, path: bytes) -> None:
        """Look for leavings in the directory `path`, given by descriptor or by a way to it that follows no link."""
        try:
            names = os.listdir(directory)
        except OSError:
            return  # what keeps us from listing it is told when something is to be made in it
        found = [name for name in map(os.fsencode, names) if is_temporary(name)]
        if found:
            self._found[path] = found

    def clear(self, directory: int, selected: Selected, prepare: Prepare, *, last: bool) -> None:
        """Remove what is known not to be held by the backup, from a part of a listing on; `last` = no part follows.

        `prepare` is called before the directory is changed.
        """
        names = self._found.pop(selected.directory, None)
        if not names:
            return
        held = frozenset(entry.name for entry, _ in selected.entries)
        end = max(held, default=b"")
        decided = [name for name in names if last or name <= end]
        later = [name for name in names if not (last or name <= end)]
        if later:
            self._found[selected.directory] = later
        foreign = [name for name in decided if name not in held]
        if selected.partial:
            foreign = [name for name in foreign if is_temporary_of(name, held)]
        _remove(directory, foreign, prepare)

    def clear_rest(self, open_beside: Callable[[bytes], int], prepare: Callable[[int, bytes], Prepare]) -> None:
        """Remove those in directories of which no listing came: in the backup, they are empty."""
        while self._found:
            path, names = self._found.popitem()
            with contextlib.suppress(OSError):
                directory = open_beside(path)
                try:
                    _remove(directory, names, prepare(directory, path))
                finally:
                    os.close(directory)

    def forget(self, path: bytes) -> None:
        """Leave a directory alone."""
        self._found.pop(path, None)


def _remove(directory: int, names: list[bytes], prepare: Prepare) -> None:
    if not names or not _alone(directory):
        return
    prepare(directory)
    for name in names:
        with contextlib.suppress(OSError):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.rmdir(name, dir_fd=directory)  # made as one: empty
            elif os.geteuid() in (0, status.st_uid):
                os.unlink(name, dir_fd=directory)
    claim(directory)


def _alone(directory: int) -> bool:
    """Return whether no other restore is at work in a directory; where nobody can tell, there is none."""
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
