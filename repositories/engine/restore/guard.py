"""What a restore must never delete, although the backup does not hold it. Pure but for reading the backup's own lists.

Owns the reasons. A backup tells what it left out: by its rules, and what it could not read. Neither says that the
object did not exist, so neither is a reason to delete it.
"""

import itertools
import os
import stat
import threading
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from repositories.engine.errors import ConfigurationError, IntegrityError, ObjectMissingError
from repositories.engine.manifest.backups import Backup
from repositories.engine.manifest.chunks import ChunkSource
from repositories.engine.manifest.order import split
from repositories.engine.manifest.problems import ProblemKind, Severity, read_problems
from repositories.engine.restore.request import Deletion
from repositories.engine.source.cache_tags import TAG
from repositories.engine.source.root import identities

if TYPE_CHECKING:
    from repositories.engine.source.excludes import ExcludeRules

MAX_SKIPPED = 100_000
"""Objects whose names are held at once; a hostile repository may claim any number."""

EXCLUDED = "left out of the backup by its rules"
SKIPPED = "could not be read when the backup was made"
OWN = "the repository or Syncova's own data"
OTHER_FILE_SYSTEM = "another file system is mounted there"
SOCKET = "a socket, which no backup holds"
CACHE = "left out of the backup as a cache"
SPELLING = "another spelling of a name that the backup holds"
CHANGED = "changed since the plan was made"


@dataclass(slots=True)
class Guard:
    """Decides about single objects. Safe in several threads.

    `tags`: of directories tagged as caches the backup holds nothing but the tag. `touched` are files one of whose names
    we took away: that sets their ctime, which then says nothing any more.
    """

    rules: "ExcludeRules"
    skipped: frozenset[bytes]
    own: frozenset[tuple[int, int]]
    before_ns: int | None
    tags: bool = False
    touched: set[tuple[int, int]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reason_to_spare(self, path: bytes, status: os.stat_result) -> str | None:
        """Return why the object at `path` (relative to the source) must stay, or None."""
        if self.is_own(status):
            return OWN
        if stat.S_ISSOCK(status.st_mode):
            return SOCKET
        if self.rules and self.rules.excludes(path, is_directory=stat.S_ISDIR(status.st_mode)):
            return EXCLUDED
        if self.skipped and self._was_skipped(path):
            return SKIPPED
        identity = (status.st_dev, status.st_ino)
        changed_ns = status.st_mtime_ns if identity in self.touched else status.st_ctime_ns
        if self.before_ns is not None and changed_ns >= self.before_ns:
            return CHANGED
        return None

    def is_own(self, status: os.stat_result) -> bool:
        """Return whether this is the repository or Syncova's own data."""
        return (status.st_dev, status.st_ino) in self.own

    def may_clear(self, path: bytes, names: AbstractSet[bytes]) -> bool:
        """Return whether the backup holds all that lay in the directory `path`, in which it has these names."""
        return not (self.tags and path and names == {TAG})

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


def guard_of(source: ChunkSource, backup: Backup, deletion: Deletion, keep_out: tuple[bytes, ...]) -> Guard | str:
    """Return what guards a deletion, or why nothing may be deleted: the backup cannot tell what it left out."""
    # The rules bring a compiler along that most restores do not need.
    from repositories.engine.source.excludes import ExcludeRules

    root = backup.root
    if not root.origin.excludes and _left_out(backup, ProblemKind.EXCLUDED):
        return "the backup left things out by rules that were too long to be kept with it"
    try:
        problems = (each for each in read_problems(source, root.problems) if each.severity == Severity.SKIPPED)
        skipped = frozenset(each.path for each in itertools.islice(problems, MAX_SKIPPED + 1))
        rules = ExcludeRules(root.origin.excludes, ignoring_case=root.origin.excludes_ignore_case)
    except (IntegrityError, ObjectMissingError, ConfigurationError):
        return "what the backup left out cannot be read"
    if len(skipped) > MAX_SKIPPED:
        return f"the backup could not read more than {MAX_SKIPPED:,} objects"
    own = identities((*keep_out, *deletion.spare))
    return Guard(rules, skipped, own, deletion.before_ns, tags=_left_out(backup, ProblemKind.CACHE_DIRECTORY))


def _left_out(backup: Backup, kind: ProblemKind) -> bool:
    return any(count.kind == kind for count in backup.root.problem_counts)
