"""What lies in the repository as a prune sees it, looked at in the order that makes deletion safe.

Owns the order of looks (docs/repository-format.md, section 7): packs that might be in no index first, then who works
here, then manifests and checkpoints, then segments, and after these which packs are there. What a writer puts
meanwhile is never taken for garbage: its lease was there before its packs, those before its segment, that before its
manifest.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from repositories.engine.clock import Clock
from repositories.engine.errors import IntegrityError, ObjectMissingError, PruneOvertakenError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.headers import parse_object_header
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.directory import PackRecord
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.choice import Choice, PackState
from repositories.engine.prune.chunks import ChunksByOrdinal
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.keeping import Keeper, Kept, list_backups
from repositories.engine.prune.liveness import Liveness
from repositories.engine.prune.others import Others
from repositories.engine.prune.remains import damaged_packs
from repositories.engine.prune.report import Beat, PackUse
from repositories.engine.prune.segments import Segment, SegmentList, read_segments, replaced
from repositories.engine.retention.deleted import deleted_manifests
from repositories.engine.sessions.fences import SweepView
from repositories.engine.sessions.presence import pack_sizes
from repositories.engine.sessions.views import read_damage, read_newest_sweep, read_swept_packs

_WRITERS = (SessionPurpose.WRITE,)


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: what is kept, the segments that were listed, packs on the medium, and packs of writers that live."""

    kept: Kept
    segments: SegmentList
    sweep: SweepView
    early: Mapping[bytes, int] = field(default_factory=dict)
    spared: frozenset[bytes] = frozenset()
    writers: bool = False

    @property
    def counted(self) -> dict[bytes, Segment]:
        """The segments that count by the fence rule."""
        whole = self.segments.whole
        return {each: one for each, one in whole.items() if self.sweep.accepts_segment(each, one.fence)}

    @property
    def live(self) -> dict[bytes, Segment]:
        """Those that count and that no other replaces."""
        counted = self.counted
        old = replaced(counted.values())
        return {each: one for each, one in counted.items() if each not in old}


class Survey:
    """Index and liveness, completed with each look. `now_ns` is the wall time at which the prune began."""

    def __init__(self, store: ObjectStore, others: Others, clock: Clock, beat: Beat) -> None:
        self._store = store
        self._others = others
        self._clock = clock
        self.index = CompactIndex()
        reader = ChunksByOrdinal(self.index, PackReader(store), store.keyring)
        self.liveness = Liveness(self.index, reader, beat)
        self._keeper = Keeper(store, self.liveness, clock.now_ns())
        self._segments: dict[bytes, Segment] = {}
        self._listings: dict[bytes, array[int]] = {}
        self._sizes: dict[bytes, int] = {}
        self._listed: frozenset[bytes] = frozenset()
        self._damage: dict[bytes, frozenset[bytes]] = {}
        self._noted: frozenset[bytes] = frozenset()
        self._swept: frozenset[bytes] = frozenset()

    def look(self, *, first: bool, mark: int | None = None) -> Seen:
        """Look at everything. Only the `first` look finds packs that are in no index, and whom to spare.

        `mark` is the number of our mark, once it is put.
        """
        early = pack_sizes(self._store.storage) if first else {}
        writers = {each.session_id for each in self._others.living(_WRITERS)} if first else set()
        names = list_backups(self._store)
        # Sweeps are put by prunes alone, and we are the only one.
        sweep = read_newest_sweep(self._store)
        self._swept = read_swept_packs(self._store)
        # Before the segments: a pack of which damage was noted was listed before.
        self._noted = damaged_packs(self._store)
        segments = self._read_segments(sweep)
        self._sizes = pack_sizes(self._store.storage)
        self._damage = read_damage(self._store)
        seen = Seen(
            kept=self._keeper.keep(names, sweep, deleted_manifests(self._store, self._clock.now_ns()), mark),
            segments=segments,
            sweep=sweep,
            early=early,
            spared=self._packs_of_sessions(segments, writers),
            writers=bool(writers),
        )
        self._listed = frozenset(self._packs_in(seen.live))
        return replace(seen, early={each: early[each] for each in early.keys() - self._listed})

    def choose(self, doomed: frozenset[bytes]) -> Choice:
        """Choose the places that stay; packs that are `doomed` only where there is no other."""
        states = {pack.pack_id: self._state(pack.pack_id, pack.length, doomed) for pack in self.index.packs}
        return Choice(self.index, self.liveness.is_used, {each: one for each, one in states.items() if one})

    def uses(self, seen: Seen, choice: Choice, doomed: frozenset[bytes]) -> Iterator[PackUse]:
        """Yield every pack that is listed or on the medium, as plans see it; nobody is spared what is `doomed`."""
        safe = seen.spared - doomed
        for number, pack in enumerate(self.index.packs):
            if pack.pack_id in self._listed:
                yield PackUse(
                    pack_id=pack.pack_id,
                    pack_class=pack.pack_class,
                    length=self._sizes.get(pack.pack_id, 0),
                    used=choice.used_bytes(number),
                    spared=pack.pack_id in safe,
                    retired=parse_object_header(pack.header).epoch != self._store.keyring.current_epoch,
                    whole=self._sizes.get(pack.pack_id) == pack.length and pack.pack_id not in self._damage,
                )
        # Whoever lives may just be about to list them; and where chunks are in no index, these may hold them.
        spared = seen.writers or self.liveness.unindexed > 0
        for pack_id in seen.early.keys() - self._listed:
            keep = pack_id not in doomed and (spared or pack_id in safe)
            yield PackUse(pack_id, 0, seen.early[pack_id], 0, listed=False, spared=keep)

    def carried(self) -> frozenset[bytes]:
        """Return what the last look found of the packs that the newest sweep takes.

        The prune that put it may sleep, and delete them when it wakes up: the next sweep names them, too, so that no
        writer counts them as stored meanwhile.
        """
        return self._swept & self._sizes.keys()

    def named(self) -> Mapping[bytes, str]:
        """Return the manifests that the backups name which were looked at, each with what names it."""
        return self._keeper.named

    def highest_fence(self) -> int:
        """Return the highest fence of the manifests, checkpoints and segments that were looked at."""
        return max([self._keeper.highest_fence, *(each.fence for each in self._segments.values())])

    def is_there(self, pack_id: bytes) -> bool:
        """Tell whether the last look found a pack on the medium."""
        return pack_id in self._sizes

    def is_listed(self, pack_id: bytes) -> bool:
        """Tell whether a segment that counts lists a pack."""
        return pack_id in self._listed

    def damaged_and_gone(self) -> frozenset[bytes]:
        """Return the packs of which damage was noted that are in no segment that counts and not on the medium."""
        return self._noted - self._listed - self._sizes.keys()

    def listing(self, segment_id: bytes) -> Iterator[bytes]:
        """Yield the packs that a segment lists."""
        return (self.index.packs[number].pack_id for number in self._listings.get(segment_id, ()))

    def _state(self, pack_id: bytes, length: int, doomed: frozenset[bytes]) -> PackState | None:
        # What a sweep takes may be gone at any moment: two prunes must not each keep what the other one deletes.
        if pack_id not in self._listed or pack_id in self._swept or self._sizes.get(pack_id) != length:
            return PackState(3)
        bad = self._damage.get(pack_id)
        if bad is not None and not bad:
            return PackState(2)
        rank = 1 if pack_id in doomed else 0
        return PackState(rank, bad or frozenset()) if rank or bad else None

    def _read_segments(self, sweep: SweepView) -> SegmentList:
        def take(segment: Segment, packs: Iterator[PackRecord]) -> None:
            if sweep.accepts_segment(segment.segment_id, segment.fence):
                numbers: array[int] = array("I")
                for pack in packs:
                    self.index.add(pack)
                    numbers.append(self.index.number_of(pack.pack_id) or 0)
                self._listings[segment.segment_id] = numbers

        try:
            found = read_segments(self._store, self._segments, take)
        except ObjectMissingError as error:
            raise PruneOvertakenError(
                "an index segment vanished while it was read: another prune works here", hint="run prune again"
            ) from error
        if found.lost:
            raise IntegrityError(
                f"{object_name(ObjectKind.INDEX, found.lost[0])} cannot be read in any copy: what it lists would be "
                "taken for garbage; nothing was deleted",
                hint="run repair, then prune again",
            )
        self._segments = found.whole
        return found

    def _packs_in(self, segments: Mapping[bytes, Segment]) -> Iterator[bytes]:
        for segment_id in segments:
            yield from self.listing(segment_id)

    def _packs_of_sessions(self, segments: SegmentList, sessions: set[bytes]) -> frozenset[bytes]:
        """Return the packs that these sessions listed themselves, also in segments that another one replaced since."""
        own = {each: segment for each, segment in segments.whole.items() if segment.session_id in sessions}
        return frozenset(self._packs_in(own))
