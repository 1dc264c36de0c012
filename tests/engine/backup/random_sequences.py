"""Sequences of backups of random trees, and the proof that each of them restores to what its tree was.

Two sources share a repository; a backup may be broken off before it is made, name its parent, or read all again.
"""

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import OperationCancelledError
from repositories.engine.manifest.backups import Backup, find_backup
from repositories.engine.repository import Repository
from repositories.engine.restore import Deletion, Overwrite, RestoreRequest, restore
from tests.engine.backup.interruptions import CancelAfter, HurryingClock
from tests.engine.backup.random_steps import KEPT_OUT, Step, act, step, without
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import Description, assert_same, describe

SOURCES = ("tree", "other")
_TICK = 0.01  # longer than a tick of the kernel's coarse clock


@dataclass(frozen=True)
class Round:
    """What is done to the source `which`, and how it is backed up then.

    `broken_off`: a try before it is cancelled at that question. `parent`: which of the earlier backups is named.
    """

    steps: list[Step]
    which: int
    broken_off: int | None
    parent: int | None
    percent: int


rounds = st.builds(
    Round,
    st.lists(step, max_size=10),
    st.sampled_from([0, 0, 0, 1]),
    st.one_of(st.none(), st.none(), st.integers(0, 12)),
    st.one_of(st.none(), st.none(), st.integers(0, 3)),
    st.sampled_from([0, 0, 0, 100]),
)
sequences = st.tuples(st.booleans(), st.lists(rounds, min_size=2, max_size=5))


@dataclass
class _Made:
    repository: Repository
    excludes: bool
    backups: dict[str, list[tuple[str, Description]]] = field(default_factory=lambda: {name: [] for name in SOURCES})

    def expected(self, tree: Path) -> Description:
        found = describe(tree)
        return without(found, KEPT_OUT) if self.excludes else found


def require_identical(base: Path, excludes: bool, sequence: list[Round]) -> None:
    """Back up and restore one sequence below `base`, which is removed at the end. Raises AssertionError."""
    made = _Made(make_repository(), excludes)
    for name in SOURCES:
        (base / name).mkdir()
    for each in sequence:
        _back_up(made, base / SOURCES[each.which], each)
    for name in SOURCES:
        _restore_all(made, base, name)
    assert check(made.repository, CheckRequest(read_data=True), Hooks()).ok
    shutil.rmtree(base)


def _back_up(made: _Made, tree: Path, order: Round) -> None:
    time.sleep(_TICK)
    for each in order.steps:
        act(os.fsencode(tree), each)
    earlier = made.backups[tree.name]
    changes: dict[str, Any] = {"name": tree.name, "accept_new_root": True, "reread_percent": order.percent}
    if made.excludes:
        changes["excludes"] = (os.fsdecode(KEPT_OUT),)
    if order.broken_off is not None:
        try:
            _often(made.repository, tree, changes | {"cancelled": CancelAfter(order.broken_off)})
        except OperationCancelledError:
            time.sleep(_TICK)
            for each in order.steps[::2]:
                act(os.fsencode(tree), each)
        else:
            # It ended before it was asked so often: one backup more, which nothing is known of.
            pass
    if order.parent is not None and earlier:
        changes["parent"] = earlier[order.parent % len(earlier)][0]
    before = made.expected(tree)
    result = back_up_tree(made.repository, tree, **changes)
    assert (result.skipped, result.warnings) == (0, 0), result.problems
    earlier.append((result.backup_id, before))
    assert_same(before, made.expected(tree))


def _often(repository: Repository, tree: Path, changes: dict[str, Any]) -> None:
    back_up_tree(repository, tree, clock=HurryingClock(), checkpoint_seconds=0.0, **changes)


def _restore_all(made: _Made, base: Path, name: str) -> None:
    """Restore each backup to a place of its own, and each over what the one before and the next one left."""
    backups = [(find_backup(made.repository, identity), before) for identity, before in made.backups[name]]
    for number, (backup, before) in enumerate(backups):
        _restore(made.repository, backup, base / f"out {name} {number}", before)
    for backup, before in (*backups, *reversed(backups)):
        _restore(made.repository, backup, base / f"over {name}", before, Overwrite.ALWAYS)


def _restore(
    repository: Repository, backup: Backup, out: Path, before: Description, overwrite: Overwrite = Overwrite.NEVER
) -> None:
    deletion = Deletion() if overwrite is Overwrite.ALWAYS else None
    request = RestoreRequest(os.fsencode(out), (), overwrite, True, (), deletion)
    result = restore(repository, backup, request, Hooks())
    assert (result.exit_code, result.warnings) == (0, {}), result
    assert_same(before, describe(out))
