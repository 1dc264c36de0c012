"""Hard links of one walk: which names are one file, and what was read of it already.

Owns the group ids (ordinal of the file system in the walk, inode). Remembers a file only while names of it are
still to come.
"""

import msgspec

from repositories.engine.backup.capture import Content
from repositories.engine.source.status import Status


class _Member(msgspec.Struct):
    left: int
    content: Content | None = None


class HardLinks:
    """Told of every object with more than one name that is no directory."""

    def __init__(self) -> None:
        self._ordinals: dict[int, int] = {}
        self._members: dict[tuple[int, int], _Member] = {}

    def group(self, status: Status) -> tuple[int, int] | None:
        """Return the group id; None for a file with one name."""
        if status.st_nlink < 2:
            return None
        return self._ordinals.setdefault(status.st_dev, len(self._ordinals)), status.st_ino

    def meet(self, status: Status) -> bool:
        """Count one name; return whether it is the first of its file."""
        key = status.st_dev, status.st_ino
        member = self._members.get(key)
        if member is None:
            self._members[key] = _Member(status.st_nlink - 1)
            return True
        member.left -= 1
        if member.left <= 0:
            del self._members[key]
        return False

    def content(self, status: Status) -> Content | None:
        """Return what was read under another name, if the file is still the same."""
        member = self._members.get((status.st_dev, status.st_ino))
        content = member.content if member is not None else None
        if content is None or content.changed:
            return None
        same = (content.status.st_mtime_ns, content.status.st_ctime_ns, content.status.st_size)
        return content if same == (status.st_mtime_ns, status.st_ctime_ns, status.st_size) else None

    def keep(self, content: Content) -> None:
        """Remember what was read for the names to come."""
        member = self._members.get((content.status.st_dev, content.status.st_ino))
        if member is not None:
            member.content = content
