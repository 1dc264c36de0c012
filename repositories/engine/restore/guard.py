"""What a restore must never delete, although the backup does not hold it. Pure but for reading the backup's own lists.

Owns the reasons. A backup tells what it left out: by its rules, and what it could not read. Neither says that the
object did not exist, so neither is a reason to delete it.
"""

import os
import stat
import threading
from dataclasses import dataclass, field

from repositories.engine.errors import ConfigurationError, IntegrityError, ObjectMissingError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.order import split
from repositories.engine.manifest.problems import Severity, read_problems
from repositories.engine.restore.request import Deletion
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.root import identities

EXCLUDED = "left out of the backup by its rules"
SKIPPED = "could not be read when the backup was made"
OWN = "the repository or Syncova's own data"
OTHER_FILE_SYSTEM = "another file system is mounted there"
SOCKET = "a socket, which no backup holds"
CHANGED = "changed since the plan was made"


@dataclass(slots=True)
class Guard:
    """Decides about single objects. Safe in several threads.

    `touched` are files one of whose names we took away: that sets their ctime, which then says nothing any more.
    """

    rules: ExcludeRules
    skipped: frozenset[bytes]
    own: frozenset[tuple[int, int]]
    before_ns: int | None
    touched: set[tuple[int, int]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reason_to_spare(self, path: bytes, status: os.stat_result) -> str | None:
        """Return why the object at `path` (relative to the source) must stay, or None."""
        identity = (status.st_dev, status.st_ino)
        if identity in self.own:
            return OWN
        if stat.S_ISSOCK(status.st_mode):
            return SOCKET
        if self.rules and self.rules.excludes(path, is_directory=stat.S_ISDIR(status.st_mode)):
            return EXCLUDED
        if self.skipped and self._was_skipped(path):
            return SKIPPED
        changed_ns = status.st_mtime_ns if identity in self.touched else status.st_ctime_ns
        if self.before_ns is not None and changed_ns >= self.before_ns:
            return CHANGED
        return None

    def loses_a_name(self, status: os.stat_result) -> None:
        """Note that a name of this object goes away now, while others may stay."""
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            with self._lock:
                self.touched.add((status.st_dev, status.st_ino))

    def _was_skipped(self, path: bytes) -> bool:
        while path:
            if path in self.skipped:
                return True
            path = split(path)[0]
        return b"" in self.skipped


def guard_of(source: ChunkSource, backup: Backup, deletion: Deletion, keep_out: tuple[bytes, ...]) -> Guard | None:
    """Return what guards a deletion, or None when the backup cannot tell what it left out: then nothing may go."""
    try:
        skipped = frozenset(
            problem.path
            for problem in read_problems(source, backup.root.problems)
            if problem.severity == Severity.SKIPPED
        )
        rules = ExcludeRules(backup.root.origin.excludes)
    except (IntegrityError, ObjectMissingError, ConfigurationError):
        return None
    return Guard(rules, skipped, identities((*keep_out, *deletion.spare)), deletion.before_ns)
