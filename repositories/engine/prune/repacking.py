"""Repacks: the used chunks of some packs go into new ones, which are durable and listed before anything is deleted.

Owns the copying. A block all of whose chunks are chosen goes over as it is; of others the chosen chunks are gathered
into new blocks. What was done when a repack ends early stays: the new packs are listed every few packs.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repositories.engine.codec.compression import level_of
from repositories.engine.errors import (
    EngineError,
    IntegrityError,
    ObjectMissingError,
    OperationCancelledError,
    RepositoryError,
    StorageFullError,
)
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.index.segments import SegmentRecord, segment_weight
from repositories.engine.limits import MIB
from repositories.engine.objects.store import ObjectStore
from repositories.engine.packs.blocks import BlockStyle, PendingChunk
from repositories.engine.packs.directory import PackClass, PackRecord
from repositories.engine.packs.pipeline import BlockPipeline, PipelineSettings
from repositories.engine.packs.reader import BlockPlace, PackReader
from repositories.engine.packs.table import table_layout
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.report import Beat, PackUse
from repositories.engine.prune.room import least_room, room_for
from repositories.engine.prune.segments import WRITTEN_BYTES
from repositories.engine.sessions.gather import Gatherer

_LISTED_AFTER = 4
_IN_FLIGHT = 8 * MIB


@dataclass(frozen=True, slots=True)
class RepackOrder:
    """What to repack: packs, and for each place of the index whether it was chosen. `out_of_time` ends it early.

    `give_way` is called after each pack, with the seconds that it took; it may wait. `fields` are fence, session id and
    time of the segments that list what was written.
    """

    packs: Sequence[PackUse]
    kept: bytearray
    fields: tuple[int, bytes, int]
    pack_target: int
    out_of_time: Callable[[], bool]
    give_way: Callable[[float], None]
    monotonic: Callable[[], float]


class Repacker:
    """Carries one order out. `done` are the packs all of whose chosen chunks lie elsewhere now, durable and listed."""

    def __init__(self, store: ObjectStore, index: CompactIndex, order: RepackOrder, beat: Beat) -> None:
        self._store = store
        self._index = index
        self._order = order
        self._beat = beat
        self._reader = PackReader(store)
        style = BlockStyle(level_of("default"), store.keyring.record.padding)
        settings = PipelineSettings(style, 2, order.pack_target, _IN_FLIGHT)
        self._pipeline = BlockPipeline(store, settings, self._take)
        self._gatherers = {pack_class: Gatherer(store.randomness) for pack_class in PackClass}
        self._lock = threading.Lock()
        self._new: list[PackRecord] = []
        self._open: list[PackRecord] = []
        self._open_segment: bytes | None = None
        self._through: list[bytes] = []
        self.done: frozenset[bytes] = frozenset()
        self._copied = 0
        self.bytes_read = 0
        self.bytes_written = 0
        self.stopped = ""
        self.needs = 0

    def run(self) -> None:
        """Repack until all is done, time or room is up. Raises OperationCancelledError and errors of the medium."""
        try:
            self._copy_all()
            self._finish()
        except StorageFullError:
            self.stopped = "the medium is full"
            self.needs = max(least_room(self._order.packs), room_for(self._copied))
            self._list_new(everything=True)
        except OperationCancelledError:
            # What is durable need not be done again; that it was asked to stop matters more than a failure here.
            with contextlib.suppress(EngineError):
                self._list_new(everything=True)
            raise
        finally:
            self._pipeline.close()

    def _copy_all(self) -> None:
        without_room: list[PackUse] = []
        for pack in self._order.packs:
            if self._order.out_of_time():
                self.stopped = "the time was up"
                return
            if not self._has_room(pack.used):
                # Others may need less, and what they free is room for this one.
                without_room.append(pack)
                continue
            self._beat()
            begun = self._order.monotonic()
            number = self._index.number_of(pack.pack_id)
            if number is not None and self._copy(number):
                self._through.append(pack.pack_id)
            self._copied += pack.used
            self._list_new(everything=False)
            self._order.give_way(self._order.monotonic() - begun)
        if without_room:
            self.stopped = "there is no room for more new packs"
            self.needs = least_room(without_room)

    def _finish(self) -> None:
        for pack_class, gatherer in self._gatherers.items():
            block = gatherer.take()
            if block is not None:
                self._pipeline.submit(pack_class, *block)
        self._pipeline.drain()
        self._list_new(everything=True)
        self.done = frozenset(self._through)

    def _copy(self, number: int) -> bool:
        """Copy what was chosen of a pack; False when it cannot be read whole: then it stays as it is."""
        pack_class = PackClass(self._index.packs[number].pack_class)
        for position, (first, end, part) in enumerate(self._index.blocks_of(number)):
            chosen = self._order.kept.count(1, first, end)
            if not chosen:
                continue
            place = self._index.place_of(number, position)
            try:
                if chosen == end - first:
                    self._pipeline.submit_whole(pack_class, self._reader.read_whole(place))
                else:
                    self._gather(pack_class, place, first)
            except (IntegrityError, ObjectMissingError):
                self._pipeline.check()
                return False
            self.bytes_read += part
        return True

    def _gather(self, pack_class: PackClass, place: BlockPlace, first: int) -> None:
        content = memoryview(self._reader.read_block(place).content)
        kinds, offsets = table_layout(place.record.table)
        for at, kind in enumerate(kinds):
            if not self._order.kept[first + at]:
                continue
            data = bytes(content[offsets[at] : offsets[at + 1]])
            chunk_id = self._index.id_at(first + at)
            if self._store.keyring.chunk_id(ChunkKind(kind), data) != chunk_id:
                raise IntegrityError(f"chunk {chunk_id.hex()} does not have the content of its id", hint="run check")
            block = self._gatherers[pack_class].add(PendingChunk(ChunkKind(kind), chunk_id, data))
            if block is not None:
                self._pipeline.submit(pack_class, *block)

    def _has_room(self, more: int) -> bool:
        free = self._store.storage.free_space()
        with self._lock:
            # What was copied and is not on the medium yet needs room, too.
            waiting = max(self._copied - self.bytes_written, 0)
        return free is None or free >= room_for(waiting + more)

    def _take(self, pack: PackRecord) -> None:
        """Take note of a durable pack; called by the pipeline's thread."""
        with self._lock:
            self._new.append(pack)
            self.bytes_written += pack.length

    def _list_new(self, *, everything: bool) -> None:
        """Put a segment with the new packs, and with those of the last one, which goes, as long as it is small."""
        with self._lock:
            if not self._new or (not everything and len(self._new) < _LISTED_AFTER):
                return
            fresh, self._new = self._new, []
        if segment_weight(self._open) > WRITTEN_BYTES:
            self._open, self._open_segment = [], None
        self._open += fresh
        old = self._open_segment
        record = SegmentRecord(*self._order.fields, (), tuple(self._open))
        self._open_segment = self._store.put(ObjectKind.INDEX, encode(record))
        if old is not None:
            # Ours, and all that it lists is listed by the new one.
            with contextlib.suppress(RepositoryError):
                self._store.remove(ObjectKind.INDEX, old)
