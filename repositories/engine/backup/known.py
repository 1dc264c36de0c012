"""What is known of a source before it is walked: by earlier tries that were broken off, then by the parent.

Owns the order of these places, and what is told about them. Pages that cannot be read are given up with a warning, and
no page that is there already is then relied on.
"""

from collections.abc import Callable

from repositories.engine.backup.committing import BackupTask
from repositories.engine.backup.parent import EntryCursor, Lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.unfinished import Unfinished, choose_unfinished, void_of
from repositories.engine.display import show_count, show_time
from repositories.engine.manifest.known_pages import Found
from repositories.engine.manifest.pages_ahead import AnyPages, pages_ahead
from repositories.engine.manifest.problems import ProblemKind


class KnownEntries:
    """Several places to look into, used as one: `enter` a directory, then `find` ascending names.

    `find` returns what the first place that knows it says of a name in the entered directory. `goes_on` tells whether
    one of them is a checkpoint, which may know one name of a file and not the next; `knows_anything` whether there is
    any such place.
    """

    def __init__(self, checkpoints: list[EntryCursor], parent: EntryCursor) -> None:
        self.goes_on = bool(checkpoints)
        self.knows_anything = self.goes_on or parent.is_of_something
        self._parent = parent
        self._first = parent
        self._others: list[EntryCursor] = []
        if checkpoints:
            self._first, *self._others = [*checkpoints, parent]
        self.find: Callable[[bytes], Found | None] = self._find_in_all if checkpoints else parent.find

    def enter(self, directory: bytes) -> None:
        """Go on to a directory in each place; directories must come in manifest order."""
        self._first.enter(directory)
        for cursor in self._others:
            cursor.enter(directory)

    def _find_in_all(self, name: bytes) -> Found | None:
        found = self._first.find(name)
        for cursor in self._others:
            if found is not None:
                break
            found = cursor.find(name)
        return found

    def in_parent(self, name: bytes) -> Found | None:
        """Return what the parent says of a name in the entered directory; never what an earlier try said."""
        return self._parent.find(name)


def places_to_look(task: BackupTask, lineage: Lineage, chunks: AnyPages, problems: ProblemLog) -> KnownEntries:
    """Return the places where an unchanged object of this source may be found, the newest first."""

    def giving_up(what: str) -> Callable[[str], None]:
        def give_up(reason: str) -> None:
            task.session.distrust_metadata()
            problems.report(ProblemKind.PARENT_UNREADABLE, b"", f"{what}: {reason}")

        return give_up

    def of_checkpoint(received_ns: int) -> Callable[[str], None]:
        return giving_up(
            f"the checkpoint of {show_time(received_ns)} cannot be read, so that what it knew was read again"
        )

    earlier = _earlier_tries(task, lineage, lambda received_ns, reason: of_checkpoint(received_ns)(reason))
    pages = lineage.parent.root.pages if lineage.parent is not None else None
    unreadable = giving_up("the previous backup cannot be read, so that all files were read again")
    # Of several that are read at once none is announced: they would take the room from each other.
    parent = EntryCursor(chunks, pages, unreadable, None if earlier else pages_ahead(chunks))
    return KnownEntries([EntryCursor(chunks, each.pages, of_checkpoint(each.received_ns)) for each in earlier], parent)


def _earlier_tries(task: BackupTask, lineage: Lineage, gave_up: Callable[[int, str], None]) -> list[Unfinished]:
    stored = task.session.repository.checkpoints()
    log = task.hooks.log
    if stored.damaged:
        log("warning", f"{show_count(len(stored.damaged), 'checkpoint')} cannot be read and tells nothing; run check")
    earlier = choose_unfinished(task.session, stored, task.source, lineage, gave_up)
    if earlier:
        known = show_count(max(each.pages.count for each in earlier), "entry")
        log("info", f"goes on from a checkpoint of {show_time(earlier[0].received_ns)}: {known} known")
    elif void_of(stored, task.source, lineage):
        log("warning", "a prune made the checkpoint of an unfinished backup void: what it knew is read again")
    return earlier
