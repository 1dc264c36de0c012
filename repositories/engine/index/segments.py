"""Index segments: lists of packs with their blocks and chunks, put once, merged by segments that replace others.

Owns the segment record, which segments are live, and the plan of a merge. A segment counts only if its fence is
accepted, as manifests do: a session that a prune gave up on cannot bring packs back that are gone.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import ObjectId, Record, decode
from repositories.engine.index.places import PlaceTable
from repositories.engine.packs.directory import PackRecord, check_blocks

MERGE_ABOVE = 32
MAX_MERGED_BYTES = 32 * 1024 * 1024


class SegmentRecord(Record, frozen=True):
    """What `index/<id>` seals. `replaces` names segments (16-byte ids) whose packs are all listed here."""

    fence: int
    session_id: bytes
    created_ns: int
    replaces: tuple[ObjectId, ...]
    packs: tuple[PackRecord, ...]


class SegmentFacts(Protocol):
    """What decides whether a segment counts."""

    @property
    def fence(self) -> int:
        """The fence of the session that put it."""

    @property
    def replaces(self) -> tuple[bytes, ...]:
        """The segments whose packs it lists as well."""


class SegmentHead(msgspec.Struct, frozen=True):
    """A segment without its packs."""

    fence: int
    replaces: tuple[bytes, ...]


class HeldSegment(msgspec.Struct, frozen=True):
    """A segment whose packs lie in a table, under these numbers. `weight` is about how many bytes they take."""

    fence: int
    replaces: tuple[bytes, ...]
    weight: int
    table: PlaceTable
    numbers: "array[int]"

    @property
    def packs(self) -> tuple[PackRecord, ...]:
        """The packs that it lists; they are made anew each time."""
        return tuple(map(self.table.record, self.numbers))


LiveSegment = SegmentRecord | HeldSegment
_Facts = TypeVar("_Facts", bound=SegmentFacts)


def decode_segment(payload: bytes) -> SegmentRecord:
    """Return the segment; raises IntegrityError, also when its packs cannot be as it says."""
    segment = decode(payload, SegmentRecord)
    for pack in segment.packs:
        check_blocks(object_name(ObjectKind.PACK, pack.pack_id), pack.blocks, pack.length)
    return segment


class MergePlan(msgspec.Struct, frozen=True):
    """Segments to be replaced by one that lists their packs."""

    replaces: tuple[bytes, ...]
    packs: tuple[PackRecord, ...]


def live_segments(accepted: Mapping[bytes, _Facts]) -> dict[bytes, _Facts]:
    """Return the accepted segments that no other accepted segment replaces."""
    replaced = {old for record in accepted.values() for old in record.replaces}
    return {segment_id: record for segment_id, record in accepted.items() if segment_id not in replaced}


def plan_merge(live: Mapping[bytes, LiveSegment], forgotten: frozenset[bytes] = frozenset()) -> MergePlan | None:
    """Return what to merge, or None while there are few segments.

    The smallest segments go first, so that each pack is written anew only a logarithmic number of times. Marked packs
    stay in: a mark can be taken back, and only a sweep may forget a pack: what the newest one has are `forgotten`.
    """
    if len(live) <= MERGE_ABOVE:
        return None
    chosen: list[bytes] = []
    total = 0
    weights = {segment_id: weight_of(segment) for segment_id, segment in live.items()}
    for segment_id in sorted(live, key=weights.__getitem__):
        total += weights[segment_id]
        if len(chosen) > 1 and total > MAX_MERGED_BYTES:
            break
        chosen.append(segment_id)
    packs = {pack.pack_id: pack for each in chosen for pack in live[each].packs if pack.pack_id not in forgotten}
    return MergePlan(tuple(chosen), tuple(packs.values()))


def weight_of(segment: LiveSegment) -> int:
    """Return about how many bytes the packs of a segment take."""
    return segment.weight if isinstance(segment, HeldSegment) else segment_weight(segment.packs)


def segment_weight(packs: Iterable[PackRecord]) -> int:
    """Return about how many bytes these packs take in a segment."""
    return sum(_pack_weight(pack.blocks) for pack in packs)


def _pack_weight(blocks: Sequence[object]) -> int:
    return 200 + sum(len(getattr(block, "table", b"")) + 20 for block in blocks)
