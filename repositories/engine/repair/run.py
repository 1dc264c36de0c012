"""Runs a repair: the fence, then notes, copies, packs and index, void manifests, the reserve; a check before and after.

Owns the order, in which each step leaves the repository no worse than it was, also when the process dies in the middle:
the next repair goes on from what it finds.
"""

import dataclasses
from functools import partial

from repositories.engine.backup.options import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.check.report import Beat, CheckProblem, CheckReport
from repositories.engine.check.reserve import PRESENT, state_of_reserve
from repositories.engine.errors import OperationCancelledError, RepositoryError
from repositories.engine.format.kinds import RESERVE_NAME
from repositories.engine.prune.reserve import ReservedStorage, ReserveLeft, put_back
from repositories.engine.repair.adopting import Adopter
from repositories.engine.repair.aside import Aside, list_aside
from repositories.engine.repair.copies import CopyMender
from repositories.engine.repair.fences import FenceMender, HurtFence
from repositories.engine.repair.notes import NotesMender
from repositories.engine.repair.packs import PackMender
from repositories.engine.repair.report import RepairReport, RepairRequest, Steps
from repositories.engine.repository import Repository, WriteOptions
from repositories.engine.storage.base import Storage


def repair(repository: Repository, request: RepairRequest, hooks: Hooks) -> RepairReport:
    """Repair a repository; what cannot be mended is reported, not raised.

    Raises BackupNotFoundError for what is to be adopted and is not there, UnsupportedFormatError where this program
    must not write, unless it is a dry run whatever else is against writing here, CommitRefusedError if the keys are
    rotated meanwhile, OperationCancelledError, and the medium's errors: a full medium first of all.
    """
    if repository.unknown_write_features or not request.dry_run:
        repository.require_writable()
    reserve = state_of_reserve(repository.storage)
    storage = ReservedStorage(repository.storage, repository.store.randomness)
    left: ReserveLeft | None = None
    work = _Work(_on(repository, repository.storage if request.dry_run else storage), request, hooks)
    try:
        after, adopted = work.run()
    finally:
        if storage.spent:
            left = put_back(storage.inner, repository.store.randomness)
    if reserve != PRESENT:
        _mend_reserve(repository, reserve, work.steps)
    if not request.dry_run:
        after = dataclasses.replace(after, reserve=state_of_reserve(storage.inner))
    return dataclasses.replace(work.report(after, adopted), reserve=left)


def _on(repository: Repository, storage: Storage) -> Repository:
    """Return the same repository as `storage` shows it: nothing that was read before, or that this machine keeps."""
    store = dataclasses.replace(repository.store, storage=storage)
    same = Repository(store, repository.config, repository.clock, repository.unknown_write_features)
    same.refuse_writing = repository.refuse_writing
    same.fence_seen = repository.fence_seen
    return same


class _Work:
    """One repair, step by step."""

    def __init__(self, repository: Repository, request: RepairRequest, hooks: Hooks) -> None:
        self._repository = repository
        self._request = request
        self._hooks = hooks
        self._aside = Aside(repository.storage, repository.clock.now_ns())
        self.steps = Steps(dry_run=request.dry_run)

    def run(self) -> tuple[CheckReport, tuple[str, ...]]:
        """Return the check at the end (in a dry run the one at the beginning), and what was adopted."""
        repository, request, steps = self._repository, self._request, self.steps
        hurt = FenceMender(repository, steps, self._hooks).mend(self._aside, self._beat)
        if hurt.sweeps or (hurt and not request.dry_run):
            return _unread(hurt), ()
        NotesMender(repository, steps, repository.clock).mend(self._aside, self._beat)
        before = check(repository, CheckRequest(request.read_data, remember=not request.dry_run), self._hooks)
        CopyMender(repository, request).mend(steps, self._beat)
        self._mend_packs(before)
        adopter = Adopter(repository, steps, self._beat)
        adopter.adopt(request.adopt)
        after = before if request.dry_run else check(repository, CheckRequest(), self._hooks)
        return after, tuple(adopter.adopted)

    def report(self, after: CheckReport, adopted: tuple[str, ...]) -> RepairReport:
        """Return what was done."""
        steps = self.steps
        return RepairReport(
            steps=steps.listed,
            step_count=steps.count,
            undone=steps.undone,
            chunks_saved=steps.chunks_saved,
            chunks_lost=steps.chunks_lost,
            adopted=adopted,
            after=after,
            dry_run=self._request.dry_run,
            aside=tuple(list_aside(self._repository.storage)),
        )

    def _mend_packs(self, before: CheckReport) -> None:
        repository, steps = self._repository, self.steps
        if self._request.dry_run:
            with repository.begin_read():
                PackMender(repository, None, steps, self._beat).mend(before, self._aside)
        else:
            with repository.begin_write(WriteOptions(work="repair")) as session:
                PackMender(repository, session, steps, self._beat).mend(before, self._aside)

    @property
    def _beat(self) -> Beat:
        def beat() -> None:
            if self._hooks.cancelled():
                raise OperationCancelledError(
                    "the repair was cancelled", hint="run it again: it goes on from what it finds"
                )

        return beat


def _unread(hurt: HurtFence) -> CheckReport:
    """Return what can be said while marks or sweeps cannot be read: that, and nothing of any backup."""
    message = "it cannot be read: until that is mended nothing can be said of any backup"
    problems = [CheckProblem("copy", name, message) for name in hurt.names]
    return CheckReport(0, 0, 0, 0, 0, 0, 0, 0, len(problems), remembered=False, problems=problems)


def _mend_reserve(repository: Repository, state: str, steps: Steps) -> None:
    told = f"it is {state}: put back, so that a full medium can be cleaned"
    steps.do("reserve", RESERVE_NAME, told, partial(_put_reserve, repository))


def _put_reserve(repository: Repository) -> None:
    if lack := put_back(repository.storage, repository.store.randomness).lack:
        raise RepositoryError(lack, hint="make room, then repair or prune again")
