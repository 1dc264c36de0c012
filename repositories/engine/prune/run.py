"""Runs one prune: look, plan, repack, mark, wait, look again, sweep, delete.

Owns the order of steps, which is that of the state model (tests/engine/model/). Killed at any
moment it leaves a repository that backups, restores and the next prune go on with.
"""

import dataclasses
import time
from collections.abc import Iterator

from repositories.engine.backup.options import Hooks
from repositories.engine.display import show_count
from repositories.engine.errors import EngineError, OperationCancelledError, UnsupportedFormatError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.manifest.withheld import named_elsewhere
from repositories.engine.objects.store import ObjectStore
from repositories.engine.progress import Progress
from repositories.engine.prune.allocation import return_large_buffers
from repositories.engine.prune.fence import Fence
from repositories.engine.prune.keeping import Kept
from repositories.engine.prune.others import Others, Sleep, only_prune, remove_dead
from repositories.engine.prune.planning import make_plan
from repositories.engine.prune.remains import has_several, torn_notes
from repositories.engine.prune.removal import Removal
from repositories.engine.prune.repacking import Repacker, RepackOrder
from repositories.engine.prune.report import PruneReport, PruneRequest
from repositories.engine.prune.reserve import ReservedStorage, put_back
from repositories.engine.prune.room import judge_room, least_room
from repositories.engine.prune.survey import Seen, Survey
from repositories.engine.prune.withheld import require_all_there
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import NotesReader
from repositories.engine.retention.writing import affirm_deletions
from repositories.engine.sessions.leases import Lease
from repositories.engine.sessions.views import read_marks

_SECONDS_BETWEEN = 0.2
_LONGEST_PAUSE = 10.0


class _Pulse:
    """Cancel and progress, asked several times a second."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._next = 0.0
        self.report = PruneReport()
        self.phase = "looking"

    def __call__(self) -> None:
        now = self._hooks.clock.monotonic()
        if now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        if self._hooks.cancelled():
            raise OperationCancelledError(
                "the prune was cancelled; all backups are as they were",
                hint="run it again: it goes on from what is done",
            )
        done = self.report.deleted_packs
        self._hooks.report(Progress(self.phase, done, self.report.bytes_read, self.report.bytes_written, b""))

    def enter(self, phase: str) -> None:
        """Go on to another phase, which is reported at once."""
        self.phase = phase
        self._next = 0.0
        self()

    def tell(self, line: str) -> None:
        """Tell whom the prune waits for."""
        self._hooks.log("info", line)


def prune(repository: Repository, request: PruneRequest, hooks: Hooks, sleep: Sleep = time.sleep) -> PruneReport:
    """Prune a repository; return what was planned and done.

    Raises BackupUnreadableError and IntegrityError (what may be used is not known: nothing was deleted),
    RepositoryLockedError (another prune works), PruneOvertakenError, OperationCancelledError and errors of the medium.
    """
    if repository.unknown_write_features:
        raise UnsupportedFormatError(
            f"the repository uses {', '.join(repository.unknown_write_features)}, not known here: it can only be read",
            hint="use a newer Syncova to write",
        )
    if not request.dry_run:
        repository.require_writable()
    return_large_buffers()
    pulse = _Pulse(hooks)
    if request.dry_run:
        with repository.begin_read():
            others = Others(repository.store, hooks.clock, sleep)
            report = _Planned(repository.store, request, (others, hooks, pulse)).report
            return judge_room(report, repository.storage)
    return _prune(repository, request, hooks, (pulse, sleep))


def _prune(repository: Repository, request: PruneRequest, hooks: Hooks, watch: tuple[_Pulse, Sleep]) -> PruneReport:
    pulse, sleep = watch
    storage = ReservedStorage(repository.storage, repository.store.randomness)
    store = dataclasses.replace(repository.store, storage=storage)
    others = Others(store, hooks.clock, sleep)
    until = None if request.max_seconds is None else hooks.clock.monotonic() + request.max_seconds
    lease = only_prune(
        others, lambda: Lease(store, SessionPurpose.PRUNE, hooks.clock.now_ns()), pulse, pulse.tell, sleep
    )
    failure: BaseException | None = None
    try:
        planned = _Planned(store, request, (others, hooks, pulse))
        work = _Work(store, planned, (lease, others, hooks, pulse), until)
        work.repack(request, storage, sleep)
        work.delete(sleep, repository.fence_seen)
        remove_dead(store, others)
        return work.report
    except EngineError as error:
        failure = error
        raise
    finally:
        pulse.report.reserve_used = storage.spent
        lease.end(failure)
        # It was taken again behind each put; what the lease has left of its room is added.
        left = put_back(storage.inner, store.randomness)
        pulse.report.reserve_lack, pulse.report.reserve_gone = left.lack, left.is_gone
        judge_room(pulse.report, storage.inner)


class _Planned:
    """A first look, and the plan that follows from it."""

    def __init__(self, store: ObjectStore, request: PruneRequest, watch: tuple[Others, Hooks, _Pulse]) -> None:
        others, hooks, pulse = watch
        self.doomed = read_marks(store).packs
        self.survey = Survey(store, others, hooks.clock, pulse)
        self.seen: Seen = self.survey.look(first=True)
        self._store = store
        self._notes = NotesReader(store).read()
        self.require_all_there(self.seen.kept)
        pulse.enter("planning")
        self.choice = self.survey.choose(self.doomed)
        uses = list(self.survey.uses(self.seen, self.choice, self.doomed))
        # What comes later may be of a backup that runs: it is never marked by this prune.
        self.known = frozenset(pack.pack_id for pack in uses)
        report = pulse.report
        report.plan = make_plan(uses, request.max_unused, request.pack_target)
        report.dry_run = request.dry_run
        report.backups = len(self.seen.kept.manifests)
        report.deleted_backups = self.seen.kept.deleted
        report.unindexed = self.survey.liveness.unindexed
        self.report = report
        for line in self._warnings():
            hooks.log("warning", line)

    def require_all_there(self, kept: Kept) -> None:
        """Raise BackupUnreadableError if a backup is named that is neither there nor deleted."""
        named = {**named_elsewhere(self._store, self._notes), **self.survey.named()}
        known = kept.manifests | kept.manifests_gone | self._notes.deletions.keys()
        require_all_there(self._store, {each: name for each, name in named.items() if each not in known})

    def _warnings(self) -> Iterator[str]:
        if unindexed := self.report.unindexed:
            chunks = show_count(unindexed, "chunk")
            yield f"{chunks} of backups in no index: packs that no index names are kept; run check, then repair"
        for name in self._notes.damaged[:1]:
            yield f"{name} cannot be read and may be a hold: no deleted backup is removed; run check, then repair"
        for name in self._notes.lost[:1]:
            yield f"{name} cannot be read and may undo a deletion: no deleted backup is removed; run check, then repair"


class _Work:
    """The steps that write."""

    def __init__(
        self,
        store: ObjectStore,
        planned: _Planned,
        watch: tuple[Lease, Others, Hooks, _Pulse],
        until: float | None,
    ) -> None:
        self._store = store
        self._planned = planned
        self._lease, self._others, self._hooks, self._pulse = watch
        self._until = until
        self._fence = Fence(store, self._lease.session_id, self._hooks.clock, self._pulse)
        self.report = planned.report
        self._seen = planned.seen
        self._dead = frozenset(pack.pack_id for pack in self.report.plan.delete)

    def repack(self, request: PruneRequest, storage: ReservedStorage, sleep: Sleep) -> None:
        """Repack what was planned, if there is room, and find out anew what is dead then."""
        plan = self.report.plan
        if not plan.repack:
            return
        if storage.spent:
            self.report.repack_stopped, self.report.repack_needs = "the medium is full", least_room(plan.repack)
            return
        self._pulse.enter("repacking")
        fields = (read_marks(self._store).highest, self._lease.session_id, self._hooks.clock.now_ns())
        order = RepackOrder(
            packs=plan.repack,
            kept=self._planned.choice.kept,
            fields=fields,
            pack_target=request.pack_target,
            out_of_time=self._is_late,
            give_way=lambda seconds: self._give_way(seconds, sleep),
            monotonic=self._hooks.clock.monotonic,
        )
        repacker = Repacker(self._store, self._planned.survey.index, order, self._pulse)
        try:
            repacker.run()
        finally:
            self.report.bytes_read, self.report.bytes_written = repacker.bytes_read, repacker.bytes_written
            self.report.repack_stopped, self.report.repack_needs = repacker.stopped, repacker.needs
            self.report.repacked_packs = len(repacker.done)
        self._find_dead(repacker.done)

    def _find_dead(self, repacked: frozenset[bytes]) -> None:
        """Find what is dead once more, now that the index lists the new packs."""
        planned, survey = self._planned, self._planned.survey
        first = planned.seen
        # What was to go is not chosen instead of a new pack.
        doomed = planned.doomed | repacked | self._dead
        again = survey.look(first=False)
        self._seen = dataclasses.replace(again, early=first.early, spared=first.spared, writers=first.writers)
        uses = survey.uses(self._seen, survey.choose(doomed), planned.doomed)
        dead = frozenset(pack.pack_id for pack in uses if not pack.used and not pack.spared)
        self._dead = dead & planned.known

    def delete(self, sleep: Sleep, fence_seen: int) -> None:
        """Mark what is dead, wait, look again, sweep, and remove what the sweep names."""
        if not self._is_needed():
            self.report.finished = True
            return
        told = (fence_seen, self._planned.survey.highest_fence(), *(each.fence for each in self._others.sessions()))
        number = self._fence.mark(self._dead, told)
        self._pulse.enter("waiting")
        self._let_listings_settle(sleep)
        left = self._others.wait_for(number, self._pulse, self._pulse.tell, self._until)
        if left:
            self.report.waiting = tuple(sorted({each.shown() for each in left}))
            return
        self._pulse.enter("looking again")
        seen = self._planned.survey.look(first=False, mark=number)
        self._planned.require_all_there(seen.kept)
        gone = self._still_dead()
        self.report.unmarked_packs = len(self._dead - gone)
        self._pulse.enter("deleting")
        self._fence.sweep(seen.kept, frozenset(seen.counted), gone | self._planned.survey.carried())
        self.report.sweep = number
        affirm_deletions(self._store, self._hooks.clock, seen.kept.manifests_gone)
        # What follows reads and writes whole segments: it gets the room of the places.
        self._planned.survey.index.let_go()
        removal = Removal(self._store, self._planned.survey, self._fence, self.report, self._pulse)
        removal.index_and_packs(seen, gone, (number, self._lease.session_id, self._hooks.clock.now_ns()))
        removal.leavings(seen.kept, self._hooks.clock.now_ns())
        self.report.finished = True

    def _give_way(self, seconds: float, sleep: Sleep) -> None:
        """While a backup runs, work a fifth of the time: both wait for the same medium."""
        if not self._others.living((SessionPurpose.WRITE,)):
            return
        ends = self._hooks.clock.monotonic() + min(4 * seconds, _LONGEST_PAUSE)
        while (left := ends - self._hooks.clock.monotonic()) > 0:
            self._pulse()
            sleep(min(left, _SECONDS_BETWEEN))

    def _is_late(self) -> bool:
        return self._until is not None and self._hooks.clock.monotonic() >= self._until

    def _is_needed(self) -> bool:
        kept, segments, store = self._seen.kept, self._seen.segments, self._store
        if self._dead or kept.manifests_gone or kept.checkpoints_gone or kept.void_gone or segments.torn:
            return True
        if len(segments.whole) > len(self._seen.live) or store.ids(ObjectKind.MARK):
            return True
        return (
            len(store.ids(ObjectKind.SWEEP)) > 1
            or bool(torn_notes(store))
            or has_several(store, self._hooks.clock.now_ns())
        )

    def _still_dead(self) -> frozenset[bytes]:
        """Leave out of the marked packs what is used after all, by what was looked at after the mark."""
        survey = self._planned.survey
        choice = survey.choose(self._planned.doomed | self._dead)
        found: set[bytes] = set()
        for pack_id in self._dead:
            number = survey.index.number_of(pack_id)
            if number is not None and survey.is_listed(pack_id):
                found.update([pack_id] if not choice.kept_in(number) else ())
            elif not survey.liveness.unindexed or pack_id in self._planned.doomed:
                found.add(pack_id)
        return frozenset(found)

    def _let_listings_settle(self, sleep: Sleep) -> None:
        """Wait until every machine sees the mark, where the medium is a network mount."""
        ends = self._hooks.clock.monotonic() + self._store.storage.listing_delay()
        while (left := ends - self._hooks.clock.monotonic()) > 0:
            self._pulse()
            sleep(min(left, _SECONDS_BETWEEN))
