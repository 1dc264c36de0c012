"""What a repository must hold, kept beside it: the facts of each tree that was backed up, by backup id.

Owns the judgement after a fault: everything committed is listed and restores bit for bit, nothing half is listed, a
check finds nothing, and the next backup works without waiting for anybody.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckReport, CheckRequest, check
from repositories.engine.clock import SYSTEM_CLOCK, Clock
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneReport, PruneRequest, prune
from repositories.engine.repository import Repository, open_repository
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.storage.base import Storage
from tests.engine.repositories import PASSWORD, LaterClock, back_up_tree
from tests.tree_facts import facts

PACK_TARGET = 200_000
_LATER = LaterClock()
Facts = dict[bytes, tuple[object, ...]]


def never(seconds: float) -> None:
    """Stand where something would wait: nobody is there to wait for."""
    raise AssertionError("it waits for a process that was killed")


class Oracle:
    """Facts of the backups of one repository; `root` is a directory for restores. `clock` is that of its openings."""

    def __init__(self, storage: Storage, root: Path, password: bytes = PASSWORD) -> None:
        self.storage = storage
        self.kept: dict[str, Facts] = {}
        self.clock: Clock = SYSTEM_CLOCK
        self._root = root
        self._password = password
        self._turn = 0

    def opened(self) -> Repository:
        """Open the repository as a new process does."""
        return open_repository(self.storage, self._password, clock=self.clock)

    def listed(self) -> list[str]:
        """Return the ids of the backups that are there."""
        return [backup.id for backup in list_backups(self.opened())]

    def back_up(self, tree: Path, clock: Clock = _LATER, name: str = "tree") -> str:
        """Make a backup in this process, and remember what it must give back."""
        made = back_up_tree(self.opened(), tree, clock=clock, name=name)
        self.kept[made.backup_id] = facts(tree)
        return made.backup_id

    def forget(self, backup_id: str) -> None:
        """Delete a backup."""
        repository = self.opened()
        forget(repository, plan(repository, ForgetRequest(ids=(backup_id,))))
        self.kept.pop(backup_id, None)

    def require_listed(self, *, perhaps_new: Facts | None = None, perhaps_gone: frozenset[str] = frozenset()) -> None:
        """What is listed is what was committed; a backup or a deletion that was broken off happened whole or not."""
        listed = frozenset(self.listed())
        new, gone = listed - self.kept.keys(), self.kept.keys() - listed
        assert not new or (perhaps_new is not None and len(new) == 1), f"backups that nobody made: {sorted(new)}"
        assert not gone or gone == perhaps_gone, f"backups that are gone: {sorted(gone)}"
        self.kept.update({each: perhaps_new or {} for each in new})
        for each in gone:
            del self.kept[each]

    def require_whole(self) -> None:
        """A check finds nothing, and every backup restores bit for bit."""
        report = self.check(read_data=True)
        assert (report.exit_code, report.problems) == (0, []), report.problems
        self.require_restorable()

    def require_restorable(self) -> None:
        """Every backup that must be there is, and restores bit for bit; there is no other."""
        repository = self.opened()
        backups = {backup.id: backup for backup in list_backups(repository)}
        assert backups.keys() == self.kept.keys(), "the listing"
        for backup_id, wanted in self.kept.items():
            target = self._root / f"restored {self._turn}"
            self._turn += 1
            result = restore(repository, backups[backup_id], RestoreRequest(os.fsencode(target)), Hooks())
            assert (result.exit_code, facts(target) == wanted) == (0, True), backup_id
            shutil.rmtree(target)

    def check(self, *, read_data: bool = False) -> CheckReport:
        """Return what a check says, which leaves nothing behind."""
        return check(self.opened(), CheckRequest(read_data=read_data, remember=False), Hooks())

    def prune(self) -> None:
        """Prune without waiting for anybody, and find nothing left over."""
        assert self.sweep(SYSTEM_CLOCK, never).finished
        after = self.check()
        assert (after.problems, after.exit_code) == ([], 0), after.problems
        assert (after.unused_packs, after.unreferenced_packs) == (0, 0)

    def sweep(self, clock: Clock, sleep: Callable[[float], None]) -> PruneReport:
        """Prune by this clock, waiting so."""
        request = PruneRequest(max_unused=0.0, pack_target=PACK_TARGET)
        return prune(self.opened(), request, Hooks(clock=clock), sleep)


def change_tree(tree: Path, numbers: random.Random, files: int = 12, most: int = 60_000) -> None:
    """Make a small tree of files of at most so many bytes, or change a part of the one that is there."""
    (tree / "below").mkdir(parents=True, exist_ok=True)
    for number in numbers.sample(range(files), files if not (tree / "link").is_symlink() else 4):
        path = tree / ("below" if number % 3 else ".") / f"file {number}"
        path.write_bytes(numbers.randbytes(numbers.randrange(most)))
        path.chmod(numbers.choice((0o600, 0o644, 0o755)))
    if not (tree / "link").is_symlink():
        (tree / "link").symlink_to("below")
        os.link(tree / "file 0", tree / "below" / "twin")
