"""Runs one dry run: what a restore would do to the target as it is now.

Owns opening the target without making or changing anything. Reads the repository as a restore does.
"""

import dataclasses
import os

from repositories.engine.backup.options import Hooks
from repositories.engine.manifest.backups import Backup
from repositories.engine.restore.deleting import deleting
from repositories.engine.restore.existing import Policy
from repositories.engine.restore.planning import Fate, PlanLedger, Planner
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.request import RestorePlan, RestoreRequest
from repositories.engine.restore.room import Room
from repositories.engine.restore.run import RestorableRepository
from repositories.engine.restore.selection import normalise, read_selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import DIRECTORY, refuse_inside, unusable
from repositories.engine.source.root import identities


def plan(repository: RestorableRepository, backup: Backup, request: RestoreRequest, hooks: Hooks) -> RestorePlan:
    """Return what `restore` would do with the same arguments; nothing is made, changed or deleted.

    Raises as `restore` does, but for a target that does not exist or cannot be looked at.
    """
    planned_ns = hooks.clock.now_ns()
    with repository.begin_read():
        source = repository.reader()
        paths = normalise(request.paths, backup.root.source.id)
        pulse = RestorePulse(hooks, Tally())
        pulse.phase = "planning"
        ledger = PlanLedger()
        deletion = deleting(source, backup, request, paths, pulse.beat, act=False)

        def lost(first: bytes, count: int) -> None:
            ledger.lost(first, count)
            if deletion is not None:
                deletion.refuse()

        policy = Policy(request.overwrite, source, repository.keyring.chunk_id, compare=request.verify)
        planner = Planner(policy, Room(deletion.remover if deletion is not None else None), ledger, pulse)
        refuse_inside(request.target, identities(request.keep_out))
        root, without = _open(request.target)
        try:
            if root is not None and paths in ((), (b"",)):
                planner.target(root, backup.root.top_entry)
            planner.run(root, without, read_selected(source, backup.root.pages, paths, lost))
            if root is not None and deletion is not None:
                deletion.run(root, lambda gone: read_selected(source, backup.root.pages, paths, gone), pulse)
        finally:
            if root is not None:
                os.close(root)
    result = ledger.plan(planned_ns)
    return result if deletion is None else dataclasses.replace(result, deletion=deletion.ledger.result())


def _open(target: bytes) -> tuple[int | None, Fate]:
    """Return the target's descriptor, or None and what becomes of everything then."""
    try:
        return os.open(target, DIRECTORY), Fate.CREATED
    except FileNotFoundError:
        return None, Fate.CREATED
    except PermissionError:
        return None, Fate.UNKNOWN
    except OSError as error:
        raise unusable(target, error) from error
