"""The second look at a source's root, when all below it has been read: is it still there, the same, not emptied.

Owns telling apart a source from which things vanish while it is read (notes) and a source that itself vanishes (2.6;
engine.md, section 3: never a note). The root's descriptor must still be open: no other directory has its inode then.
"""

import errno
import os
import stat

from repositories.engine.display import show_path
from repositories.engine.errors import SourceError, SourceVanishedError
from repositories.engine.source.descent import DIRECTORY_FLAGS
from repositories.engine.source.root import SourceRoot
from repositories.engine.source.walker import WalkRules

_DENIED = frozenset({errno.EACCES, errno.EPERM})
_HINT = "is its file system still mounted? make sure that nothing removes or replaces it while it is backed up"


def require_standing(root: SourceRoot, *, ignore_inode: bool) -> None:
    """Return if the source's path still leads to what was opened as its root.

    Compared is the path with the open root as both are now, since some file systems renumber; with `ignore_inode` by
    device alone. A single file may have been replaced by another one on its device: that is how files are saved.
    Raises SourceVanishedError (gone, stale, replaced), SourceError (no longer to be looked at).
    """
    try:
        now = os.stat(root.path)
        held = os.fstat(root.descriptor)
    except OSError as error:
        raise _lost(root, error) from error
    if root.only is not None:
        same = stat.S_ISREG(now.st_mode) and now.st_dev == root.status.st_dev
    else:
        # A removed directory has no links; a file system that never counts them said so at the start, too.
        removed = not held.st_nlink and root.status.st_nlink > 0
        same_device = stat.S_ISDIR(now.st_mode) and now.st_dev == held.st_dev
        same = same_device and not removed and (ignore_inode or now.st_ino == held.st_ino)
    if not same:
        raise SourceVanishedError(
            f"source {show_path(root.path)} was replaced while it was read: its path leads to something else now",
            hint=_HINT,
        )


def holds_something(root: SourceRoot, rules: WalkRules, *, held_content: bool) -> bool:
    """Return whether a root directory still holds anything that the rules want. Raises as `require_standing` does.

    Where something else than directories was found (`held_content`), directories with nothing in them are nothing:
    `lost+found` is what stays of an emptied file system.
    """
    try:
        with os.scandir(root.descriptor) as found:
            # Asked of an open descriptor, the names are text.
            return any(_is_wanted(item, rules) and not (held_content and _is_bare(root, item)) for item in found)
    except OSError as error:
        raise _lost(root, error) from error


def _is_wanted(item: os.DirEntry[str], rules: WalkRules) -> bool:
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        # It is there, whatever it is.
        return True
    if (status.st_dev, status.st_ino) in rules.own:
        return False
    return not rules.excludes.excludes(os.fsencode(item.name), is_directory=stat.S_ISDIR(status.st_mode))


def _is_bare(root: SourceRoot, item: os.DirEntry[str]) -> bool:
    """Return whether it is a directory that can be seen to hold nothing."""
    try:
        descriptor = os.open(item.name, DIRECTORY_FLAGS, dir_fd=root.descriptor)
    except OSError:
        return False
    try:
        with os.scandir(descriptor) as found:
            return next(found, None) is None
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _lost(root: SourceRoot, error: OSError) -> SourceError:
    path = show_path(root.path)
    if error.errno in _DENIED:
        return SourceError(
            f"source {path} may no longer be looked at: {error.strerror}", hint="check permissions; then run it again"
        )
    return SourceVanishedError(f"source {path} vanished while it was read: {error.strerror}", hint=_HINT)
