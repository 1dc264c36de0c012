"""The write session: lease, fence, deduplication, packs, index, commit (engine.md, sections 3 and 5).

Owns the order that makes a commit safe: packs durable, then index, then manifest. Knows nothing of what chunks and
roots mean.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from repositories.engine.clock import Clock
from repositories.engine.codec.compression import level_of
from repositories.engine.errors import CommitRefusedError, IntegrityError, RepositoryError
from repositories.engine.format.collection import SessionPurpose
from repositories.engine.format.commits import CheckpointRecord, ManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index.catalogue import Catalogue, lengths_of, packs_of
from repositories.engine.index.recovery import IndexRecovery, is_current
from repositories.engine.index.segments import SegmentRecord, plan_merge
from repositories.engine.limits import MAX_BLOCK_DECODED, MAX_PAGE, MAX_ROOT
from repositories.engine.objects.rotations import KeyWatch, Standing
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.blocks import BlockStyle, PendingChunk
from repositories.engine.packs.directory import CLASS_OF_KIND, PackClass, PackRecord
from repositories.engine.packs.pipeline import BlockPipeline, PipelineSettings
from repositories.engine.packs.reader import PackReader
from repositories.engine.sessions.fences import MarksView
from repositories.engine.sessions.gather import Gatherer
from repositories.engine.sessions.leases import Lease
from repositories.engine.sessions.options import WriteOptions
from repositories.engine.sessions.presence import absent_packs, usable_index
from repositories.engine.sessions.references import References
from repositories.engine.sessions.taking_back import put_manifest, take_back
from repositories.engine.sessions.views import accepted_by_newest_sweep, read_marks

_COMMIT_TRIES = 3
_NOT_COMMITTED = "nothing was committed"


class WriteSession:
    """One writer. `put`, `put_many`, `has`, `chunk_id` may be called from several threads; the rest from one.

    Any failure of sealing or storage poisons the session: every later call raises it and nothing is committed.
    """

    def __init__(self, store: ObjectStore, catalogue: Catalogue, clock: Clock, options: WriteOptions) -> None:
        """Put the lease, then read marks, damage and index, then list the packs: in this order.

        Raises the storage's errors.
        """
        self._store = store
        self._catalogue = catalogue
        self._clock = clock
        self._work = options.work
        style = BlockStyle(level_of(options.compression), store.keyring.record.padding)
        self.lease = Lease(store, SessionPurpose.WRITE, clock.now_ns())
        try:
            self._marks = read_marks(store)
            self.fence = self._marks.highest
            self.lease.hold_fence(self.fence, tell=self._marks.waiting)
            self._live = (known := catalogue.live_index(accepted_by_newest_sweep(store))).segments
            self.absent_packs, self._index = usable_index(store, known, self._marks.packs)
            self._recovery = IndexRecovery(store, PackReader(store), self._index, self._may_adopt)
        except BaseException:
            self.lease.end()
            raise
        settings = PipelineSettings(style, options.workers, options.pack_target, options.in_flight)
        self._keys = KeyWatch(store, clock)
        self._pipeline = BlockPipeline(store, settings, self._keep_pack)
        self._gatherers = {pack_class: Gatherer(store.randomness) for pack_class in PackClass}
        self._lock = threading.Lock()
        self._own: set[bytes] = set()
        self._unindexed: list[PackRecord] = []
        self._own_packs: list[PackRecord] = []
        self._references = References(self._index)
        self._closed = False
        self.stored_bytes = self.new_chunks = 0

    def __enter__(self) -> Self:
        """Return the session; leaving the block closes it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the session."""
        self.close()

    def chunk_id(self, kind: ChunkKind, data: bytes | bytearray | memoryview) -> bytes:
        """Return the id that `data` has as a chunk of this kind."""
        return self._store.keyring.chunk_id(kind, data)

    def has(self, kind: ChunkKind, chunk_id: bytes) -> bool:
        """Tell whether a chunk counts as stored: indexed, its pack there and unmarked, not damaged; or in flight here.

        A True is remembered: commit verifies what was asked for. So ask for each chunk of an entry that is taken over
        from a parent; a False there means that the chunk must be stored again.
        """
        if self._is_stored(chunk_id):
            return True
        # An entry of a parent names what an index has named: one that does not may be damaged.
        found = self._recovery.run() and self._is_stored(chunk_id)
        if found:
            self._recovery.note_need()
        return found

    def distrust(self, pack_id: bytes) -> None:
        """Count nothing as stored that lies in this pack alone: a chunk of it could not be read."""
        self._index.distrust(frozenset({pack_id}))

    def distrust_metadata(self) -> None:
        """Count no page or stream of an earlier session as stored: what describes a parent could not be read."""
        own = {pack.pack_id for pack in self._own_packs} - {pack.pack_id for pack in self._recovery.found}
        packs = self._index.packs().values()
        doubtful = {pack.pack_id for pack in packs if pack.pack_class == PackClass.METADATA}
        self._index.distrust(frozenset(doubtful - own))

    def put(self, kind: ChunkKind, data: bytes | bytearray | memoryview) -> tuple[bytes, bool]:
        """Store a chunk; return its id and whether it was new. `data` is copied if it can change later.

        Waits while too much is in flight. Raises what poisoned the session.
        """
        chunk_id = self._store.keyring.chunk_id(kind, data)
        return chunk_id, self._store_chunk(kind, chunk_id, data)

    def put_many(self, kind: ChunkKind, items: Sequence[bytes | bytearray | memoryview]) -> list[tuple[bytes, bool]]:
        """Store several chunks in order, as put does; cheaper per small file than one call each."""
        identify = self._store.keyring.chunk_id
        identified = [(identify(kind, data), data) for data in items]
        return [(chunk_id, self._store_chunk(kind, chunk_id, data)) for chunk_id, data in identified]

    def flush(self) -> None:
        """Make all packs durable, then an index segment that lists them. Raises what poisoned the session."""
        with self._lock:
            for pack_class, gatherer in self._gatherers.items():
                block = gatherer.take()
                if block is not None:
                    self._pipeline.submit(pack_class, *block)
            self._pipeline.drain()
            self._index_packs()

    def checkpoint(self, root: bytes, *, breaks_off: bool = False) -> str:
        """Flush, then put the unfinished backup's root; return the checkpoint's id. Never listed as a backup.

        Takes the newest fence first, as a commit does, and raises CommitRefusedError where a commit would: all further
        work would be in vain. A backup that `breaks_off` has no time for that and keeps its fence: a prune that has
        passed by makes the checkpoint void. Nothing is looked at afterwards, since nobody relies on a checkpoint.
        """
        self._check_root(root)
        self.flush()
        if not breaks_off:
            self._keys.require_quiet(_NOT_COMMITTED)
            self.require_kept()
            self._merge_segments()
        with self._pipeline.poisoning():
            return self._store.put(ObjectKind.CHECKPOINT, encode(CheckpointRecord(*self._commit_fields(root)))).hex()

    def commit(self, root: bytes, confirm: Callable[[], None]) -> str:
        """Make one backup of `root` (canonical bytes, at most 64 KiB); return the manifest's id as hex.

        Order: packs and index durable, marks listed again, confirm(), manifest, marks once more; with a newer mark the
        manifest is taken back and the same is done again, confirm() too. Whatever confirm raises passes through and
        nothing is committed. While a key rotation is under way it waits, confirm() being called all the time. Raises
        CommitRefusedError if a prune took what is referred to, or keys were rotated. Further commits may follow.
        """
        self._check_root(root)
        self.flush()
        for _ in range(_COMMIT_TRIES):
            self.require_kept()
            self._merge_segments()
            confirm()
            with self._pipeline.poisoning():
                manifest_id = put_manifest(self._store, encode(self._manifest_of(root)), self._clock.now_ns())
                if self._is_settled():
                    return manifest_id.hex()
                take_back(self._store, manifest_id, self._clock.now_ns())
                self._keys.require_quiet(_NOT_COMMITTED, confirm)
        raise CommitRefusedError(
            f"prunes or a key rotation passed by while this {self._work} was being committed; {_NOT_COMMITTED}",
            hint=f"run the {self._work} again",
        )

    def close(self) -> None:
        """End threads and lease. What was not committed is not visible. Safe to call twice."""
        if not self._closed:
            self._closed, failure = True, self._pipeline.failure
            self._pipeline.close()
            self.lease.end(failure)

    def _store_chunk(self, kind: ChunkKind, chunk_id: bytes, data: bytes | bytearray | memoryview) -> bool:
        if self._pipeline.failure is not None:
            self._pipeline.check()
        if len(data) > (MAX_PAGE if kind is ChunkKind.PAGE else MAX_BLOCK_DECODED):
            raise ValueError(f"a chunk of {len(data)} bytes is over the limit of its kind")
        if self._is_stored(chunk_id):
            return False
        with self._lock:
            if chunk_id in self._own:
                return False
            self._own.add(chunk_id)
            self.new_chunks += 1
            pack_class = CLASS_OF_KIND[kind]
            block = self._gatherers[pack_class].add(PendingChunk(kind, chunk_id, bytes(data)))
            if block is not None:
                self._pipeline.submit(pack_class, *block)
        return True

    def _is_stored(self, chunk_id: bytes) -> bool:
        ordinal = self._index.present(chunk_id)
        if ordinal is not None:
            self._references.add(ordinal)
            return True
        return chunk_id in self._own

    def _may_adopt(self, pack: PackRecord) -> bool:
        return is_current(self._store, pack) and pack.pack_id not in self._marks.packs

    def _keep_pack(self, pack: PackRecord) -> None:
        """Take note of a durable pack; called by the pipeline's thread."""
        self._unindexed.append(pack)
        self.stored_bytes += pack.length

    def _index_packs(self) -> None:
        referenced = self._references.packs() if self._recovery.found else frozenset()
        # Packs in no segment that this backup refers to: whoever reads it must find them in one.
        adopted = self._recovery.among(referenced - {pack.pack_id for pack in self._own_packs})
        packs, self._unindexed = (*self._unindexed, *adopted), []
        if not packs:
            return
        with self._pipeline.poisoning():
            self._put_segment((), packs)
        self._own_packs.extend(packs)
        self._index.add(packs)

    def _put_segment(self, replaces: tuple[bytes, ...], packs: tuple[PackRecord, ...]) -> None:
        record = SegmentRecord(self.fence, self.lease.session_id, self._clock.now_ns(), replaces, packs)
        segment_id = self._store.put(ObjectKind.INDEX, encode(record))
        self._catalogue.remember(segment_id, record)
        self._live = {each: old for each, old in self._live.items() if each not in replaces} | {segment_id: record}

    def _merge_segments(self) -> None:
        # A prune that is under way would not know of the new segment, which lists what its sweep deletes.
        plan = None if self._marks.waiting else plan_merge(self._live, self._marks.packs)
        if plan is not None:
            with self._pipeline.poisoning():
                self._put_segment(plan.replaces, plan.packs)

    def require_kept(self, nothing: str = _NOT_COMMITTED) -> None:
        """Take the newest fence. After a new mark, prove that all we refer to is there and not marked (after `flush`).

        What a prune has packed anew is found where it lies now. From then on nothing marked or gone counts as stored.
        Raises CommitRefusedError, told with `nothing`.
        """
        self._marks = self._read_marks()
        if self._marks.highest <= self.fence:
            return
        self._live = self._catalogue.live(accepted_by_newest_sweep(self._store))
        named = self._index.packs().lengths(), lengths_of(self._live, self._index.base)
        taken = self._marks.packs | absent_packs(self._store.storage, *named)
        lost = sum(pack.pack_id in taken for pack in self._own_packs)
        lost += self._references.find_again(taken, packs_of(self._live))
        if lost:
            raise CommitRefusedError(
                f"a prune marked or removed what this {self._work} refers to, {lost:,} in all; {nothing}",
                hint=f"run the {self._work} again",
            )
        self.fence = self._marks.highest
        self.lease.hold_fence(self.fence, tell=self._marks.waiting)
        if self._own_packs:
            with self._pipeline.poisoning():
                self._put_segment((), tuple(self._own_packs))

    def _is_settled(self) -> bool:
        """Tell whether the manifest just put will count: no mark, sweep or rotation has come since the fence was taken.

        A mark is enough to doubt, for its prune may have listed before this put; so is a rotation that is announced.
        """
        if self._store.storage.reads_at_once > 1:  # both come after the put, and need nothing of each other
            marks, standing = self._store.both(self._read_marks, self._keys.look)
            return marks.highest <= self.fence and standing is Standing.QUIET
        return self._read_marks().highest <= self.fence and self._keys.look() is Standing.QUIET

    def _read_marks(self) -> MarksView:
        try:
            return read_marks(self._store)
        except IntegrityError:
            # A mark under a newer key than ours tells of a rotation, not of damage.
            self._keys.require_quiet(_NOT_COMMITTED)
            raise

    def _manifest_of(self, root: bytes) -> ManifestRecord:
        return ManifestRecord(*self._commit_fields(root))

    def _commit_fields(self, root: bytes) -> tuple[int, int, int, bytes, bytes]:
        keyring = self._store.keyring
        return self.fence, self._clock.now_ns(), keyring.generation, self.lease.session_id, root

    def _check_root(self, root: bytes) -> None:
        if len(root) > MAX_ROOT:
            raise RepositoryError(f"a backup's root of {len(root)} bytes is over the limit of {MAX_ROOT}")
