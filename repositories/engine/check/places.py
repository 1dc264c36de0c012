"""Where everything lies, as a check sees it: the packs and chunks of all segments that count, in flat arrays.

Owns reading the segments one after another, so that a million chunks take some 70 MB, and completing what they lack
from the packs' own directories. One thread.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from repositories.engine.check.report import Beat
from repositories.engine.errors import IntegrityError
from repositories.engine.ids import ChunkKind
from repositories.engine.index.recovery import read_unnamed
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.packs.directory import HASH_UNKNOWN, PackRecord
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.chunks import ChunksByOrdinal
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.prune.segments import Segment, SegmentList, read_segments, replaced
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_newest_sweep

_HASH: Final = len(HASH_UNKNOWN)
_TRIES: Final = 4


class Places(CompactIndex):
    """All places of all chunks, with what is known of each pack; packs are numbered in the order of `packs`."""

    def __init__(self) -> None:
        super().__init__()
        self._hashes = bytearray()

    def add(self, pack: PackRecord) -> bool:
        """Add a pack; return False for one that is known. A hash that was not known is taken over."""
        new = super().add(pack)
        if new:
            self._hashes += pack.content_hash
            return True
        number = self.number_of(pack.pack_id) or 0
        if self._hash_of(number) == HASH_UNKNOWN:
            self._hashes[number * _HASH : (number + 1) * _HASH] = pack.content_hash
        return False

    def present(self, chunk_id: bytes) -> int | None:
        """Return the ordinal that stands for a chunk, None if no pack holds it."""
        return self.find(chunk_id)

    def record_of(self, pack_id: bytes) -> PackRecord:
        """Return a pack as the index lists it; it must be known."""
        number = self.number_of(pack_id) or 0
        pack = self.packs[number]
        count = sum(1 for _ in self.blocks_of(number))
        blocks = tuple(self.place_of(number, position).record for position in range(count))
        return PackRecord(pack.pack_id, pack.length, self._hash_of(number), pack.pack_class, pack.header, blocks)

    def chunks_of(self, pack_id: bytes) -> Iterator[bytes]:
        """Yield the chunks of a pack that is known; one may come several times."""
        pack = self.packs[self.number_of(pack_id) or 0]
        return map(self.id_at, range(pack.first, pack.end))

    def packs_with(self, chunk_id: bytes) -> Iterator[bytes]:
        """Yield the packs that hold a chunk."""
        standing = self.find(chunk_id)
        for ordinal in () if standing is None else self.places(standing):
            yield self.packs[self.pack_at(ordinal)].pack_id

    def _hash_of(self, number: int) -> bytes:
        return bytes(self._hashes[number * _HASH : (number + 1) * _HASH])


@dataclass(slots=True)
class Unlisted:
    """Completes places by packs that no segment names, when it is asked to, once. `needed`: a backup needs one."""

    repository: Repository
    places: Places
    found: int = 0
    needed: bool = False
    _done: bool = False

    def run(self) -> bool:
        """Add what the packs' own directories tell, the first time; return whether there is any.

        A pack of any epoch counts: each chunk is hashed again, and only what counts can have named its id. Raises
        errors of the medium.
        """
        if not self._done:
            self._done = True
            named = {pack.pack_id for pack in self.places.packs}
            for pack in read_unnamed(self.repository.store, self.repository.pack_reader, lambda: named).packs:
                self.found += self.places.add(pack)
        return self.found > 0


@dataclass(frozen=True, slots=True)
class Held:
    """A chunk of which a place is known."""

    length: int


class PlacesReader:
    """Reads pages and streams through places, and knows the lengths of all chunks."""

    def __init__(self, repository: Repository, places: Places, unlisted: Unlisted) -> None:
        self.index = places
        self._unlisted = unlisted
        self._chunks = ChunksByOrdinal(places, PackReader(repository.store), repository.keyring)

    def locate(self, kind: ChunkKind, chunk_id: bytes) -> Held | None:
        """Return a chunk of this kind, or None if neither the index nor a pack's directory names it."""
        held = self._look(kind, chunk_id)
        if held is None and self._unlisted.run():
            held = self._look(kind, chunk_id)
            self._unlisted.needed = self._unlisted.needed or held is not None
        return held

    def read(self, kind: ChunkKind, chunk_id: bytes) -> bytes:
        """Return a chunk's content, from whichever place is whole. Raises IntegrityError or ObjectMissingError."""
        self.locate(kind, chunk_id)
        return self._chunks.read(kind, chunk_id)

    def _look(self, kind: ChunkKind, chunk_id: bytes) -> Held | None:
        standing = self.index.find(chunk_id)
        for ordinal in () if standing is None else self.index.places(standing):
            if self.index.kind_at(ordinal) == kind:
                return Held(self.index.length_at(ordinal))
        return None


@dataclass(slots=True)
class _Reading:
    """One reading of the segments. `passed` are those that must not be taken: replaced by others, or not decodable."""

    store: ObjectStore
    beat: Beat
    passed: frozenset[bytes] = frozenset()
    places: Places = field(default_factory=Places)
    known: dict[bytes, Segment] = field(default_factory=dict)
    taken: set[bytes] = field(default_factory=set)
    broken: set[bytes] = field(default_factory=set)

    def look(self) -> tuple[SegmentList, set[bytes]]:
        """Read what was not read yet; return all segments, and those of them that are live."""
        sweep = read_newest_sweep(self.store)

        def take(segment: Segment, packs: Iterator[PackRecord]) -> None:
            if segment.segment_id not in self.passed and sweep.accepts_segment(segment.segment_id, segment.fence):
                self.taken.add(segment.segment_id)
                self._take(segment, packs)
            self.known[segment.segment_id] = segment

        listed = read_segments(self.store, self.known, take)
        whole = {each: one for each, one in listed.whole.items() if each not in self.broken}
        counted = {each: one for each, one in whole.items() if sweep.accepts_segment(each, one.fence)}
        return listed, counted.keys() - replaced(counted.values())

    def _take(self, segment: Segment, packs: Iterator[PackRecord]) -> None:
        try:
            for pack in packs:
                self.beat()
                self.places.add(pack)
        except IntegrityError:
            # A segment of which a part cannot be decoded counts for nobody.
            self.broken.add(segment.segment_id)


def read_places(store: ObjectStore, beat: Beat) -> tuple[Places, bool]:
    """Return what the segments list that count now, and whether one that did cannot be read. Raises storage errors.

    A segment that turns out to be replaced (its writer died before it removed it, or a writer merges meanwhile) is left
    out in a second reading: what it lists alone may have been swept. Where writers merge faster than segments are read,
    the last reading is kept with those that it met: all that they list alone was swept by the newest sweep, since later
    prunes wait for a check, and a pack of that one is no loss (`without_swept`).
    """
    reading = _Reading(store, beat)
    for left in reversed(range(_TRIES)):
        listed, live = steadily(reading.look)
        stale = reading.taken - live
        if not stale or not left:
            break
        reading = _Reading(store, beat, reading.passed | stale, broken=set(reading.broken))
    return reading.places, bool(listed.lost or reading.broken)
