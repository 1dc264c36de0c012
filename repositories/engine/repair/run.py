"""Runs a repair: copies, then packs and index, then void manifests, then the reserve; a check before and a check after.

Owns the order, in which each step leaves the repository no worse than it was, also when the process dies in the middle:
the next repair goes on from what it finds.
"""

from functools import partial

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.check.report import CheckReport
from repositories.engine.check.reserve import MISSING, PRESENT
from repositories.engine.errors import OperationCancelledError, RepositoryError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.prune.reserve import put_back
from repositories.engine.repair.adopting import Adopter
from repositories.engine.repair.copies import CopyMender
from repositories.engine.repair.packs import PackMender
from repositories.engine.repair.report import RepairReport, RepairRequest, Steps
from repositories.engine.repository import Repository
from repositories.engine.storage.base import Storage


def repair(repository: Repository, request: RepairRequest, hooks: Hooks) -> RepairReport:
    """Repair a repository; what cannot be mended is reported, not raised.

    Raises BackupNotFoundError for what is to be adopted and is not there, UnsupportedFormatError where this program
    must not write, OperationCancelledError, and the medium's errors: a full medium first of all.
    """
    repository.require_writable()
    # That the index is damaged is what the report tells.
    repository.warn = lambda _: None
    steps = Steps(dry_run=request.dry_run)

    def beat() -> None:
        if hooks.cancelled():
            raise OperationCancelledError(
                "the repair was cancelled", hint="run it again: it goes on from what it finds"
            )

    before = check(repository, CheckRequest(request.read_data, remember=not request.dry_run), hooks)
    CopyMender(repository, request).mend(steps, beat)
    if request.dry_run:
        with repository.begin_read():
            PackMender(repository, None, steps, beat).mend(before)
    else:
        with repository.begin_write() as session:
            PackMender(repository, session, steps, beat).mend(before)
    adopter = Adopter(repository, steps, beat)
    adopter.adopt(request.adopt)
    _mend_reserve(repository, before, steps)
    after = before if request.dry_run else check(repository, CheckRequest(), hooks)
    return RepairReport(
        steps=steps.listed,
        step_count=steps.count,
        undone=steps.undone,
        chunks_saved=steps.chunks_saved,
        chunks_lost=steps.chunks_lost,
        adopted=tuple(adopter.adopted),
        after=after,
        dry_run=request.dry_run,
    )


def _mend_reserve(repository: Repository, before: CheckReport, steps: Steps) -> None:
    if before.reserve != PRESENT:
        told = f"it is {before.reserve}: put back, so that a full medium can be cleaned"
        steps.do("reserve", RESERVE_NAME, told, partial(_put_reserve, repository, missing=before.reserve == MISSING))


def _put_reserve(repository: Repository, *, missing: bool) -> None:
    storage: Storage = repository.storage
    if not missing:
        storage.delete(RESERVE_NAME)
    if not put_back(storage, repository.store.randomness):
        raise RepositoryError("the medium has no room for it", hint="make room, then repair again")
