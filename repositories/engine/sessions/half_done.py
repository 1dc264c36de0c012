"""Pairs of which one copy alone is there because a process died between the two puts, or between the two deletions.

Owns telling them from pairs of which the medium lost a copy: the lease of whoever put or removed them is still there.
Only a prune removes the leases of the dead, and it writes the other copy first.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from repositories.engine.errors import IntegrityError, ObjectMissingError, UnsupportedFormatError
from repositories.engine.format.collection import LeaseRecord, SessionPurpose, SweepRecord
from repositories.engine.format.commits import ManifestRecord
from repositories.engine.format.kinds import (
    WRITTEN_TWICE,
    ObjectKind,
    generation_group,
    names_of,
    object_id_of,
    object_name,
)
from repositories.engine.format.records import decode
from repositories.engine.index.segments import SegmentRecord
from repositories.engine.objects.pairs import get_bounded
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.torn import is_cut
from repositories.engine.sessions.views import read_newest_sweep
from repositories.engine.storage.base import Storage

_Record = SegmentRecord | ManifestRecord | SweepRecord
_RECORDS: Final[dict[ObjectKind, type[SegmentRecord] | type[ManifestRecord] | type[SweepRecord]]] = {
    ObjectKind.INDEX: SegmentRecord,
    ObjectKind.MANIFEST: ManifestRecord,
    ObjectKind.SWEEP: SweepRecord,
}
_CHANGES_OF_KEYS: Final = frozenset({SessionPurpose.ROTATE, SessionPurpose.KEYS})


def read_leases(store: ObjectStore) -> dict[bytes, int]:
    """Return the purposes of all sessions whose leases can be read, by session id."""
    found: dict[bytes, int] = {}
    for session_id in store.ids(ObjectKind.SESSION):
        with contextlib.suppress(ObjectMissingError, IntegrityError, UnsupportedFormatError):
            found[session_id] = decode(store.read(ObjectKind.SESSION, session_id), LeaseRecord).purpose
    return found


def is_half_done(store: ObjectStore, kind: ObjectKind, name: str, leases: Mapping[bytes, int]) -> bool:
    """Tell whether one copy alone of this pair is there, and one of these sessions explains it."""
    pair = names_of(kind, name)
    there = _whole_copies(store.storage, kind, pair)
    if len(pair) != 2 or len(there) == 2:
        return False
    own = generation_group(store.keyring.generation)
    if kind is ObjectKind.SLOT and name.split("/")[1] != own:
        return True  # opens nothing any more, or not yet
    if kind is ObjectKind.KEYRING and name.split("/")[1] < own:
        return True  # opened by nobody any more: a prune is at it
    if not there:
        return False
    if kind not in _RECORDS:
        return not _CHANGES_OF_KEYS.isdisjoint(leases.values())
    if there[0] != name and SessionPurpose.PRUNE in leases.values():
        return True
    record = _read(store, kind, name)
    return record is not None and (record.session_id in leases or _is_void_segment(store, name, record))


def complete_pairs(store: ObjectStore, dead: Mapping[bytes, int]) -> None:
    """Write the missing copies of what these dead sessions left half done. Raises the medium's errors."""
    if not dead:
        return
    for kind in sorted(WRITTEN_TWICE):
        for name in store.names(kind):
            if is_half_done(store, kind, name, dead):
                _complete(store.storage, kind, name)


def _complete(storage: Storage, kind: ObjectKind, name: str) -> None:
    pair = names_of(kind, name)
    for source in _whole_copies(storage, kind, pair):
        copy = pair[1] if source == pair[0] else pair[0]
        with contextlib.suppress(ObjectMissingError, IntegrityError):
            # What lies there is a beginning of the same bytes, if anything.
            storage.put(copy, get_bounded(storage, kind, source), overwrite=True)


def _read(store: ObjectStore, kind: ObjectKind, name: str) -> _Record | None:
    object_id = object_id_of(name)
    try:
        return None if object_id is None else decode(store.read(kind, object_id), _RECORDS[kind])
    except (ObjectMissingError, IntegrityError, UnsupportedFormatError):
        return None


def _is_void_segment(store: ObjectStore, name: str, record: _Record) -> bool:
    """Tell whether this is a segment that means nothing: a prune passed by between its two puts.

    Its writer slept meanwhile, or the medium.
    """
    if not isinstance(record, SegmentRecord):
        return False
    try:
        sweep = read_newest_sweep(store)
    except (IntegrityError, UnsupportedFormatError):
        return False
    segment_id = object_id_of(name) or b""
    if not sweep.accepts_segment(segment_id, record.fence) or _is_replaced(store, segment_id):
        return True
    return record.fence < sweep.number and _is_listed_anew(store, sweep.number, record)


def _is_replaced(store: ObjectStore, segment_id: bytes) -> bool:
    others = store.read_whole(ObjectKind.INDEX, {}, lambda payload: decode(payload, SegmentRecord).replaces)
    return any(segment_id in replaces for replaces in others.found.values())


def _is_listed_anew(store: ObjectStore, number: int, record: SegmentRecord) -> bool:
    """Tell whether the prune of this number, or whoever came after it, has put other segments in place of this one.

    They list each of its packs that is still there. A put that comes after such a prune brings back one copy alone.
    """
    others = store.read_whole(ObjectKind.INDEX, {}, lambda payload: decode(payload, SegmentRecord))
    anew = {pack.pack_id for other in others.found.values() if other.fence >= number for pack in other.packs}
    return bool(record.packs) and all(
        pack.pack_id in anew or _size_of(store.storage, object_name(ObjectKind.PACK, pack.pack_id)) is None
        for pack in record.packs
    )


def _whole_copies(storage: Storage, kind: ObjectKind, pair: Sequence[str]) -> list[str]:
    """Return the names of the copies that are there and were not torn in their puts. Raises the medium's errors.

    Copies are equal, so that only one that is shorter than the other, or alone, need be looked into.
    """
    sizes = {copy: size for copy in pair if (size := _size_of(storage, copy)) is not None}
    if len(sizes) == 2 and len(set(sizes.values())) == 1:
        return list(sizes)
    longest = max(sizes.values(), default=0)
    doubtful = [copy for copy, size in sizes.items() if len(sizes) == 1 or size < longest]
    return [copy for copy in sizes if copy not in doubtful or not _is_cut(storage, kind, copy)]


def _is_cut(storage: Storage, kind: ObjectKind, name: str) -> bool:
    try:
        return is_cut(kind, get_bounded(storage, kind, name))
    except (ObjectMissingError, IntegrityError):
        return False


def _size_of(storage: Storage, name: str) -> int | None:
    try:
        return storage.size(name)
    except ObjectMissingError:
        return None
