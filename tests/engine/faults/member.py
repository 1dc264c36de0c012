"""One process of a crowd on one repository: `python -m tests.engine.faults.member ROLE PLACE SECONDS NUMBER`.

Owns the loops of the roles. Ends with 0, or with what it raised on stderr; what must be kept is written to PLACE/kept.
"""

import hashlib
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.errors import BackupNotFoundError, CommitRefusedError, RepositoryLockedError
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.manifest.backups import list_backups
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repository import Repository, WriteOptions, open_repository
from repositories.engine.restore import RestoreRequest, restore
from repositories.engine.retention.policy import KeepRules
from repositories.engine.storage.local import LocalStorage
from tests.engine.faults.oracle import change_tree
from tests.engine.repositories import PASSWORD, back_up_tree
from tests.tree_facts import facts

KEPT_OF_A_SOURCE = 2


def opened(place: Path) -> Repository:
    """Open the crowd's repository."""
    return open_repository(LocalStorage(str(place / "repository")), PASSWORD)


def digest_of(tree: Path) -> str:
    """Return a hash of all facts of a tree."""

    return hashlib.sha256(repr(sorted(facts(tree).items())).encode()).hexdigest()


def write(place: Path, number: int, turn: int) -> None:
    """Change the own tree, back it up, and write down what was committed."""
    tree = place / f"tree {number}"
    change_tree(tree, random.Random(number * 10_000 + turn), 6)
    repository = opened(place)
    try:
        with repository.begin_write(WriteOptions(workers=1, pack_target=150_000)) as session:
            made = back_up_tree(repository, tree, session=session, name=f"tree {number}")
    except CommitRefusedError:
        return
    told = {"id": made.backup_id, "source": f"tree {number}", "turn": turn, "facts": digest_of(tree)}
    target = place / "kept" / made.backup_id
    target.with_suffix(".part").write_text(json.dumps(told))
    target.with_suffix(".part").rename(target)


def delete(place: Path, number: int, turn: int) -> None:
    """Keep the newest two of each source."""
    repository = opened(place)
    forget(repository, plan(repository, ForgetRequest(rules=KeepRules(last=KEPT_OF_A_SOURCE))))


def clean(place: Path, number: int, turn: int) -> None:
    """Prune; another prune may be at it."""
    try:
        prune(opened(place), PruneRequest(max_unused=0.0, pack_target=150_000), Hooks())
    except RepositoryLockedError:
        return


def look(place: Path, number: int, turn: int) -> None:
    """Check; nothing may be wrong."""
    report = check(opened(place), CheckRequest(read_data=True, remember=False), Hooks())
    assert report.problems == [], report.problems


def bring_back(place: Path, number: int, turn: int) -> None:
    """Restore one of the backups that are there, bit for bit, unless it is deleted meanwhile."""
    repository = opened(place)
    backups = list_backups(repository)
    if not backups:
        return
    chosen = random.Random(turn).choice(backups)
    target = place / f"restored {number}"
    shutil.rmtree(target, ignore_errors=True)
    with repository.begin_read():
        if all(each.id != chosen.id for each in list_backups(opened(place))):
            return
        result = restore(repository, chosen, RestoreRequest(os.fsencode(target)), Hooks())
    kept = place / "kept" / chosen.id
    assert result.exit_code == 0, result
    assert not kept.exists() or json.loads(kept.read_text())["facts"] == digest_of(target)


ROLES: dict[str, Callable[[Path, int, int], None]] = {
    "backup": write, "forget": delete, "prune": clean, "check": look, "restore": bring_back,
}  # fmt: skip


def main() -> None:
    """Do one thing over and over, until the time is over."""
    role, place, seconds, number = ROLES[sys.argv[1]], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    ends = time.monotonic() + seconds
    turn = 0
    while turn == 0 or time.monotonic() < ends:
        turn += 1
        try:
            role(place, number, turn)
        except BackupNotFoundError:
            continue
    (place / f"turns {sys.argv[1]} {number}").write_text(str(turn))


if __name__ == "__main__":
    main()
