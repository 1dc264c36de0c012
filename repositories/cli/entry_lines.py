"""One object of a backup as a line: what is foreign and of any length comes last, so that no name can pass for more.

Owns the columns that `ls` and `find` share.
"""

import stat
from typing import TYPE_CHECKING

from repositories.engine.display import show_path, show_time

if TYPE_CHECKING:
    from repositories.engine.manifest.entries import Entry

CHANGED = "!"


def facts(entry: "Entry") -> str:
    """Return mode, owner, size and time; a file that was changing while it was read has a `!` behind its mode."""
    from repositories.engine.manifest.entries import FLAG_CHANGED

    mark = CHANGED if entry.flags & FLAG_CHANGED else " "
    size = ",".join(map(str, entry.device)) if entry.device is not None else f"{entry.size:,}"
    return f"{stat.filemode(entry.mode)}{mark} {f'{entry.uid}:{entry.gid}':>11} {size:>14} {show_time(entry.mtime_ns)}"


def group(entry: "Entry") -> str:
    """Return the hard-link group: objects of one backup that share it are one."""
    return "-" if entry.link_group is None else f"{entry.link_group[0]}:{entry.link_group[1]}"


def named(path: bytes, entry: "Entry") -> str:
    """Return the path, and where a link leads."""
    return show_path(path) if entry.target is None else f"{show_path(path)} -> {show_path(entry.target)}"
