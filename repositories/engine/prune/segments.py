"""Index segments as a prune reads them: one after another, pack by pack, never all in memory at once.

Owns the streaming, both ways: a segment is decoded pack by pack, and a pack's record goes into a new segment as the
bytes that it was read as. Which segments count is decided by the fence rule as everywhere.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from repositories.engine.errors import IntegrityError, RetiredKeyError, UnsupportedFormatError
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import UNDECODABLE, ObjectId, Record, decode, encode
from repositories.engine.limits import MIB
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.torn import was_torn
from repositories.engine.packs.directory import PackRecord, check_blocks

WRITTEN_BYTES = 8 * MIB
"""About how long a segment becomes that a prune writes."""
SMALL_BYTES = 256 * 1024


class _OpenSegment(Record, frozen=True):
    """A SegmentRecord (index/segments.py) whose packs are still encoded."""

    fence: int
    session_id: bytes
    created_ns: int
    replaces: tuple[ObjectId, ...]
    packs: tuple[msgspec.Raw, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment without its packs. `size` is about its length, encoded."""

    segment_id: bytes
    fence: int
    session_id: bytes
    replaces: tuple[bytes, ...]
    size: int


@dataclass(frozen=True, slots=True)
class SegmentList:
    """All segments on the medium at one moment. `torn` were never put whole, `lost` cannot be read though they were."""

    whole: dict[bytes, Segment]
    torn: tuple[bytes, ...]
    lost: tuple[bytes, ...]


def read_segments(
    store: ObjectStore, known: dict[bytes, Segment], take: Callable[[Segment, Iterator[PackRecord]], None]
) -> SegmentList:
    """List the segments; hand each that is not `known` to `take` with its packs, which must be used up at once.

    Raises the storage's errors; ObjectMissingError for one that vanished between listing and reading.
    """
    whole: dict[bytes, Segment] = {}
    torn: list[bytes] = []
    lost: list[bytes] = []
    for segment_id in store.ids(ObjectKind.INDEX):
        if segment_id in known:
            whole[segment_id] = known[segment_id]
            continue
        try:
            opened, size = _read(store, segment_id)
        except RetiredKeyError:
            continue
        except (IntegrityError, UnsupportedFormatError):
            (torn if was_torn(store.storage, ObjectKind.INDEX, segment_id) else lost).append(segment_id)
            continue
        segment = Segment(segment_id, opened.fence, opened.session_id, opened.replaces, size)
        take(segment, (pack for pack, _ in _packs(opened)))
        whole[segment_id] = segment
    return SegmentList(whole, tuple(torn), tuple(lost))


def packs_in(store: ObjectStore, segment_id: bytes) -> Iterator[PackRecord]:
    """Yield the packs of a segment, read anew."""
    yield from (pack for pack, _ in _packs(_read(store, segment_id)[0]))


class SegmentWriter:
    """Puts the packs it is given into new segments; `fields` are fence, session id and time of each.

    The put of a segment is durable when `add` or `finish` returns from it. Raises the storage's errors.
    """

    def __init__(self, store: ObjectStore, fields: tuple[int, bytes, int]) -> None:
        self._store = store
        self._fields = fields
        self._packs: dict[bytes, bytes] = {}
        self._size = 0
        self._seen: set[bytes] = set()
        self.written: list[bytes] = []

    def add(self, pack_id: bytes, raw: bytes) -> None:
        """Take the record of a pack; one that was given before is passed over."""
        if pack_id in self._seen:
            return
        self._seen.add(pack_id)
        self._packs[pack_id] = raw
        self._size += len(raw)
        if self._size >= WRITTEN_BYTES:
            self.finish()

    def copy(self, segment_id: bytes, stays: Callable[[bytes], bool]) -> None:
        """Take the packs of a segment whose ids `stays` accepts, each as the bytes that it was read as."""
        for pack, raw in _packs(_read(self._store, segment_id)[0]):
            if stays(pack.pack_id):
                self.add(pack.pack_id, bytes(raw))

    def finish(self) -> None:
        """Put what is left, if there is anything."""
        if self._packs:
            packs = tuple(map(msgspec.Raw, self._packs.values()))
            self._packs, self._size = {}, 0
            fence, session_id, created_ns = self._fields
            record = _OpenSegment(fence, session_id, created_ns, (), packs)
            self.written.append(self._store.put(ObjectKind.INDEX, encode(record)))


def replaced(segments: Iterable[Segment]) -> frozenset[bytes]:
    """Return the segments that one of these replaces: all that they list is listed elsewhere, too."""
    return frozenset(old for segment in segments for old in segment.replaces)


def _read(store: ObjectStore, segment_id: bytes) -> tuple[_OpenSegment, int]:
    payload = store.read_large(ObjectKind.INDEX, segment_id)
    return decode(payload, _OpenSegment), len(payload)


def _packs(opened: _OpenSegment) -> Iterator[tuple[PackRecord, msgspec.Raw]]:
    for raw in opened.packs:
        try:
            pack = _decoder.decode(raw)
        except UNDECODABLE as error:
            raise IntegrityError(f"an index segment holds what is no pack: {error}", hint="run check") from error
        check_blocks(object_name(ObjectKind.PACK, pack.pack_id), pack.blocks, pack.length)
        yield pack, raw


_decoder = msgspec.msgpack.Decoder(PackRecord)
