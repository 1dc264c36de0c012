"""Marks and sweeps that cannot be read: put out of force, so that backups, prunes and listings go on.

Owns the order of that (docs/repository-format.md, section 7): a number above all that the unreadable ones may have had,
then what replaces them, then moving them aside. What it puts is what a prune puts that finds nothing to delete, and
which may have died on the way; it never names a pack that a writer who lives has listed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from repositories.engine.backup.options import Hooks
from repositories.engine.check.report import Beat
from repositories.engine.format.collection import MarkRecord, SessionPurpose, SweepRecord
from repositories.engine.format.commits import CheckpointRecord, CopiedManifestRecord
from repositories.engine.format.kinds import ObjectKind, names_of, object_name
from repositories.engine.format.records import encode
from repositories.engine.index.catalogue import packs_of
from repositories.engine.objects.rotations import KeyWatch
from repositories.engine.objects.store import ObjectStore
from repositories.engine.prune.numbers import STRIDE, numbered_aside
from repositories.engine.prune.others import Others, only_prune
from repositories.engine.repair.aside import ASIDE, Aside
from repositories.engine.repair.doubtful import name_doubtful
from repositories.engine.repair.records import lost_ids, whole_records
from repositories.engine.repair.report import Steps
from repositories.engine.repository import Repository
from repositories.engine.sessions.fences import SweepView, join_ids, split_ids
from repositories.engine.sessions.leases import Lease
from repositories.engine.sessions.presence import pack_sizes

_SETTLE_SECONDS = 2.0
_NOT_DONE = "nothing was repaired"


@dataclass(frozen=True, slots=True)
class HurtFence:
    """The ids of marks and sweeps of which no copy can be read and that were whole once."""

    marks: tuple[bytes, ...]
    sweeps: tuple[bytes, ...]

    @property
    def names(self) -> list[str]:
        """Their names, marks first."""
        marks = [object_name(ObjectKind.MARK, each) for each in self.marks]
        return marks + [object_name(ObjectKind.SWEEP, each) for each in self.sweeps]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.marks or self.sweeps)


def hurt_fence(store: ObjectStore) -> HurtFence:
    """Return what cannot be read now. Raises the storage's errors."""
    return HurtFence(lost_ids(store, ObjectKind.MARK), lost_ids(store, ObjectKind.SWEEP))


class FenceMender:
    """Mends the fence of one repository; nothing else can be begun before."""

    def __init__(
        self, repository: Repository, steps: Steps, hooks: Hooks, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._repository = repository
        self._store = repository.store
        self._steps = steps
        self._hooks = hooks
        self._sleep = sleep

    def mend(self, aside: Aside, beat: Beat) -> HurtFence:
        """Return what is still hurt: all of it in a dry run, and where another prune lives."""
        if not hurt_fence(self._store):
            return HurtFence((), ())
        # The medium may just have given wrong bytes back.
        self._sleep(_SETTLE_SECONDS)
        hurt = hurt_fence(self._store)
        kind = "sweep" if hurt.sweeps else "mark"
        if hurt:
            self._steps.do(kind, hurt.names[-1], _told(hurt), lambda: self._overrule(aside, beat))
        return hurt_fence(self._store)

    def _overrule(self, aside: Aside, beat: Beat) -> None:
        # What a newer key sealed is not damaged.
        keys = KeyWatch(self._store, self._hooks.clock)
        keys.require_quiet(_NOT_DONE, beat)
        others = Others(self._store, self._hooks.clock, self._sleep)
        lease = only_prune(others, self._begin, beat, lambda line: self._hooks.log("info", line), self._sleep)
        try:
            hurt = hurt_fence(self._store)
            if hurt:
                Overruling(self._repository, self._hooks, lease.session_id, hurt).run(others, aside, self._steps)
        finally:
            lease.end()

    def _begin(self) -> Lease:
        return Lease(self._store, SessionPurpose.PRUNE, self._hooks.clock.now_ns())


class Overruling:
    """Puts what is above the unreadable marks and sweeps, as the only prune that lives."""

    def __init__(self, repository: Repository, hooks: Hooks, session_id: bytes, hurt: HurtFence) -> None:
        self._repository = repository
        self._store = repository.store
        self._clock = hooks.clock
        self._session_id = session_id
        self._hurt = hurt
        self._keys = KeyWatch(self._store, hooks.clock)

    def run(self, others: Others, aside: Aside, steps: Steps) -> None:
        """Mark, look, sweep if a sweep is lost, then move what is lost aside. Raises the storage's errors."""
        number = self._above(others)
        unlisted = self._unlisted(others) if self._hurt.sweeps else frozenset[bytes]()
        mark_id = self._put(
            ObjectKind.MARK, MarkRecord(number, self._session_id, self._clock.now_ns(), join_ids(unlisted))
        )
        if self._hurt.sweeps:
            self._sweep(number, unlisted, steps)
        for kind, ids in ((ObjectKind.SWEEP, self._hurt.sweeps), (ObjectKind.MARK, self._hurt.marks)):
            for object_id in ids:
                for copy in names_of(kind, object_name(kind, object_id)):
                    aside.take(copy)
        if self._hurt.sweeps:
            self._store.remove(ObjectKind.MARK, mark_id)

    def _put(self, kind: ObjectKind, record: MarkRecord | SweepRecord) -> bytes:
        object_id = self._store.put(kind, encode(record))
        self._keys.require_quiet(_NOT_DONE)
        return object_id

    def _sweep(self, number: int, unlisted: frozenset[bytes], steps: Steps) -> None:
        """Accept all that the newest sweep which can be read accepts, and what cannot be read itself.

        Manifests and checkpoints are listed before the segments, as by a prune: what is committed in between has seen
        the mark. What is in doubt is named before the sweep is there, since by that it would be in doubt no more.
        """
        manifests = whole_records(self._store, ObjectKind.MANIFEST, CopiedManifestRecord)
        checkpoints = whole_records(self._store, ObjectKind.CHECKPOINT, CheckpointRecord)
        live, base = self._live()
        accepts = base.accepts
        kept = {each for each, one in manifests.items() if accepts.accepts_manifest(each, one.fence)}
        begun = {each for each, one in checkpoints.items() if accepts.accepts_checkpoint(each, one.fence)}
        name_doubtful(self._store, self._clock, frozenset(kept) - accepts.manifests, steps)
        record = SweepRecord(
            number=number,
            session_id=self._session_id,
            created_ns=self._clock.now_ns(),
            manifests=join_ids(frozenset(kept | set(lost_ids(self._store, ObjectKind.MANIFEST)))),
            checkpoints=join_ids(frozenset(begun)),
            segments=join_ids(frozenset({*live.segments, *self._repository.catalogue.damaged()})),
            packs=join_ids((unlisted - live.packs) | base.packs),
        )
        self._put(ObjectKind.SWEEP, record)

    def _live(self) -> tuple["_Live", "_Base"]:
        """Return what counts by the newest readable sweep, and that sweep: it is read after the segments."""
        store, read = self._store, list[_Base]()

        def accepts(segment_id: bytes, fence: int) -> bool:
            if not read:
                read.append(_newest_readable(store))
            return read[0].accepts.accepts_segment(segment_id, fence)

        live = self._repository.catalogue.live(accepts)
        packs = frozenset(pack.pack_id for pack in packs_of(live))
        return _Live(frozenset(live), packs), read[0] if read else _newest_readable(store)

    def _unlisted(self, others: Others) -> frozenset[bytes]:
        """Return the packs in no segment: what a prune that died was deleting lies among them, if anywhere.

        A writer that lives may be about to list some, and where the index is hurt a backup may need them.
        """
        live, _ = self._live()
        if self._repository.catalogue.lost() or others.living((SessionPurpose.WRITE,)):
            return frozenset()
        return frozenset(pack_sizes(self._store.storage)) - live.packs

    def _above(self, others: Others) -> int:
        """Return a number that no mark, sweep or session has had, whatever the unreadable ones say.

        A prune's number is one more than the highest before it, a repair's as many strides more as there were
        unreadable ones ever: those of earlier repairs lie aside. So it is above an earlier repair's, also when that
        one's mark is among the lost and nothing else tells of it.
        """
        store = self._store
        known = [self._repository.fence_seen, *(each.fence for each in others.sessions())]
        known += [each.number for each in whole_records(store, ObjectKind.MARK, MarkRecord).values()]
        known += [each.number for each in whole_records(store, ObjectKind.SWEEP, SweepRecord).values()]
        known += [each.fence for each in whole_records(store, ObjectKind.MANIFEST, CopiedManifestRecord).values()]
        known += [each.fence for each in whole_records(store, ObjectKind.CHECKPOINT, CheckpointRecord).values()]
        known += [each.fence for each in self._repository.catalogue.live(lambda _, __: True).values()]
        ever = len(numbered_aside(store.storage))
        return max(known) + STRIDE * (1 + ever + len(self._hurt.names))


@dataclass(frozen=True, slots=True)
class _Live:
    """Segments that count, and the packs that they list."""

    segments: frozenset[bytes]
    packs: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class _Base:
    """What a sweep accepts, and the packs that it takes."""

    accepts: SweepView
    packs: frozenset[bytes]


def _newest_readable(store: ObjectStore) -> _Base:
    sweeps = whole_records(store, ObjectKind.SWEEP, SweepRecord).values()
    if not sweeps:
        return _Base(SweepView(), frozenset())
    newest = max(sweeps, key=lambda each: each.number)
    named = map(split_ids, (newest.manifests, newest.checkpoints, newest.segments))
    return _Base(SweepView(newest.number, *named), split_ids(newest.packs))


def _told(hurt: HurtFence) -> str:
    if not hurt.sweeps:
        return f"it cannot be read: a mark with a higher number takes its place; moved below {ASIDE}"
    return (
        "no copy of the sweep can be read: a new one with a higher number accepts what the last readable one did and "
        f"what came later, and takes no listed pack; moved below {ASIDE}"
    )
