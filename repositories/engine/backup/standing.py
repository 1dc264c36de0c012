"""Whether a source still stands when all of it has been read, and was not emptied meanwhile (2.6).

Owns these refusals, the same for a backup and for a dry run of one. Reads names at most.
"""

import msgspec

from repositories.engine.backup.options import BackupOptions, SourceSpec
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.display import show_path
from repositories.engine.errors import SourceEmptyError, SourceError
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.root import SourceRoot
from repositories.engine.source.second_look import holds_something, require_standing
from repositories.engine.source.walker import WalkRules

Order = tuple[SourceSpec, BackupOptions]


class Held(msgspec.Struct, frozen=True):
    """What was found below a root: counts by type, and the bytes of the files."""

    files: int
    directories: int
    others: int
    logical_bytes: int

    @property
    def entries(self) -> int:
        """How many objects there are."""
        return self.files + self.directories + self.others


def look_again(order: Order, walked: tuple[SourceRoot, WalkRules], problems: ProblemLog, held: Held) -> None:
    """Things may vanish while a source is read, and are notes; the source may not (engine.md, section 3).

    `held` is what was found. Raises SourceError, SourceVanishedError, SourceEmptyError.
    """
    source, options = order
    root, rules = walked
    empty = not held.entries
    require_standing(root, ignore_inode=source.ignore_inode)
    if root.only is not None:
        if empty:
            raise SourceError(_unread_file(source, problems), hint="check that the file exists and may be read")
        return
    if empty and not problems.any_of(ProblemKind.VANISHED):
        # It was empty when it was listed: only the parent can tell whether that is right.
        return
    emptied = empty or not holds_something(root, rules, held_content=held.entries > held.directories)
    if emptied and not options.accept_new_root:
        raise SourceEmptyError(
            f"source {show_path(source.path)} was emptied while it was read: nothing of what it held is left",
            hint="is its file system mounted? run it again; if that is meant to happen, give --accept-new-root",
        )


def _unread_file(source: SourceSpec, problems: ProblemLog) -> str:
    reasons = [problem.detail for problem in problems.first()] or ["it vanished"]
    return f"source {show_path(source.path)}, a single file, could not be read: {reasons[0]}"
