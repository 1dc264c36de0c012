"""Whether what was found of a source may pass for the source: it still stands, and was not suddenly emptied (2.6).

Owns these refusals, the same for a backup and for a dry run of one. Reads names at most.
"""

from repositories.engine.backup.options import BackupOptions, SourceSpec
from repositories.engine.backup.parent import Lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.display import show_count, show_path
from repositories.engine.errors import SourceEmptyError, SourceError
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.source.root import SourceRoot
from repositories.engine.source.second_look import holds_something, require_standing
from repositories.engine.source.walker import WalkRules

Order = tuple[SourceSpec, BackupOptions]


def look_again(order: Order, walked: tuple[SourceRoot, WalkRules], problems: ProblemLog, *, empty: bool) -> None:
    """Things may vanish while a source is read, and are notes; the source may not (engine.md, section 3).

    `empty`: nothing of it was described. Raises SourceError, SourceVanishedError, SourceEmptyError.
    """
    source, options = order
    root, rules = walked
    require_standing(root, ignore_inode=source.ignore_inode)
    if root.only is not None:
        if empty:
            raise SourceError(_unread_file(source, problems), hint="check that the file exists and may be read")
        return
    if empty and not problems.any_of(ProblemKind.VANISHED):
        # It was empty when it was listed: only the parent can tell whether that is right.
        return
    emptied = empty or not holds_something(root, rules)
    if emptied and not options.accept_new_root:
        raise SourceEmptyError(
            f"source {show_path(source.path)} was emptied while it was read: nothing of what it held is left",
            hint="is its file system mounted? if that is meant to happen, accept the new root; else run it again",
        )


def refuse_sudden_emptiness(order: Order, lineage: Lineage, *, empty: bool) -> None:
    """A file system that is not mounted looks like an empty directory: never a green backup of nothing."""
    source, options = order
    parent = lineage.parent or lineage.previous
    if not empty or options.accept_new_root or parent is None:
        return
    if parent.root.statistics.entries > 0:
        raise SourceEmptyError(
            f"source {show_path(source.path)} is empty, but held "
            f"{show_count(parent.root.statistics.entries, 'entry')} in backup {parent.short_id}",
            hint="is its file system mounted? if it is meant to be empty, accept the new root",
        )


def _unread_file(source: SourceSpec, problems: ProblemLog) -> str:
    reasons = [problem.detail for problem in problems.first()] or ["it vanished"]
    return f"source {show_path(source.path)}, a single file, could not be read: {reasons[0]}"
