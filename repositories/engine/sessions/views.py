"""Reading marks, sweeps, damage and the results of checks from the medium into views.

Owns the listing; the rules are in fences.py.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from repositories.engine.errors import IntegrityError, RetiredKeyError
from repositories.engine.format.collection import MarkRecord, SweepRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, decode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.ids import CHUNK_ID_LENGTH
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.objects.torn import was_torn
from repositories.engine.sessions.fences import FenceLostError, MarksView, SweepView, split_ids

_R = TypeVar("_R", bound=Record)
_MEND = "repair the repository: syncova-repo repair LOCATION (of a medium that is read only: a copy of it)"


def read_marks(store: ObjectStore) -> MarksView:
    """Return the fence to take now, and the packs that may go or are going.

    A mark that a sweep has followed is spoken for by that sweep, which leaves out the packs that were un-marked.
    """
    return steadily(lambda: _read_marks(store))


def _read_marks(store: ObjectStore) -> MarksView:
    # Marks before sweeps: a mark that is gone by the first look has a sweep that the second one sees.
    marks = _records(store, ObjectKind.MARK, MarkRecord).values()
    sweep = _newest_sweep(store)
    swept = sweep.number if sweep else 0
    waiting = [mark for mark in marks if mark.number > swept]
    packs = set(split_ids(sweep.packs)) if sweep else set()
    for mark in waiting:
        packs |= split_ids(mark.packs)
    return MarksView(max([swept, *(mark.number for mark in waiting)]), frozenset(packs), bool(waiting))


def read_mark_records(store: ObjectStore) -> dict[bytes, MarkRecord]:
    """Return all marks by id."""
    return steadily(lambda: _records(store, ObjectKind.MARK, MarkRecord))


def read_sweep_records(store: ObjectStore) -> dict[bytes, SweepRecord]:
    """Return all sweeps by id."""
    return steadily(lambda: _records(store, ObjectKind.SWEEP, SweepRecord))


def read_newest_sweep(store: ObjectStore) -> SweepView:
    """Return what the sweep with the highest number accepts, or the view of a repository that was never swept.

    Raises FenceLostError where a sweep is lost, unless `store.past_sweeps` looks past it: then all is accepted.
    """
    newest = steadily(lambda: _sweep_to_look_by(store))
    if newest is None:
        return SweepView()
    return SweepView(
        newest.number, split_ids(newest.manifests), split_ids(newest.checkpoints), split_ids(newest.segments)
    )


def accepted_by_newest_sweep(store: ObjectStore) -> Callable[[bytes, int], bool]:
    """Return whether a segment (id, fence) counts by the sweep that is newest when this is first asked.

    So the sweep is read after the segments that are judged: one that was put in between speaks of each of them, and
    none that it made void is taken for one that counts.
    """
    read: list[SweepView] = []

    def accepts(segment_id: bytes, fence: int) -> bool:
        if not read:
            read.append(read_newest_sweep(store))
        return read[0].accepts_segment(segment_id, fence)

    return accepts


def read_swept_packs(store: ObjectStore) -> frozenset[bytes]:
    """Return the packs that the newest sweep takes away: one that is missing is no loss, whatever an index says."""
    newest = steadily(lambda: _sweep_to_look_by(store))
    return split_ids(newest.packs) if newest is not None else frozenset()


def _sweep_to_look_by(store: ObjectStore) -> SweepRecord | None:
    """Return the newest sweep; for who looks past a lost one, none: that one may be the newest.

    No fence is ever taken by that (`read_marks`), and nobody who writes looks past anything.
    """
    try:
        return _newest_sweep(store)
    except FenceLostError as error:
        if store.past_sweeps is None:
            raise
        store.past_sweeps(error)
        return None


def _newest_sweep(store: ObjectStore) -> SweepRecord | None:
    # Listed at every look, since its place in the order of looks is the point; read once, since none ever changes.
    sweeps = _records(store, ObjectKind.SWEEP, SweepRecord, store.kept)
    store.kept.update(sweeps)
    return max(sweeps.values(), key=lambda sweep: sweep.number, default=None)


def _records(
    store: ObjectStore, kind: ObjectKind, record_type: type[_R], known: Mapping[bytes, _R] | None = None
) -> dict[bytes, _R]:
    """Return the records of a kind of which none may be overlooked; raises FenceLostError for a damaged one.

    One that was torn in its put is none: the prune that put it died there, and never went by it.
    """
    listed = store.read_whole(kind, known or {}, lambda payload: decode(payload, record_type))
    for object_id in listed.damaged:
        if not was_torn(store.storage, kind, object_id):
            _require_readable(store, kind, object_id)
    return listed.found


def _require_readable(store: ObjectStore, kind: ObjectKind, object_id: bytes) -> None:
    """Read an object that could not be read; what a retired key sealed, or is of another format, says so itself."""
    try:
        store.read(kind, object_id)
    except RetiredKeyError:
        raise
    except IntegrityError as error:
        raise FenceLostError(f"no copy can be read of {error.message}", hint=_MEND) from error


def read_damage_records(store: ObjectStore) -> dict[bytes, DamageRecord]:
    """Return the damage that stands, by the ids of its records. Unreadable records tell nothing."""
    listed = steadily(lambda: store.read_whole(ObjectKind.DAMAGE, {}, lambda payload: decode(payload, DamageRecord)))
    withdrawn: set[bytes] = set()
    for record in listed.found.values():
        withdrawn |= split_ids(record.withdraws or b"")
    return {
        damage_id: record
        for damage_id, record in listed.found.items()
        if record.withdraws is None and damage_id not in withdrawn
    }


def read_damage(store: ObjectStore) -> dict[bytes, frozenset[bytes]]:
    """Return known damage: pack id → chunk ids, an empty set for a whole pack. Unreadable records tell nothing."""
    return damaged_chunks(read_damage_records(store).values())


def damaged_chunks(records: Iterable[DamageRecord]) -> dict[bytes, frozenset[bytes]]:
    """Return what these records say together: pack id → chunk ids, an empty set for a whole pack."""
    damage: dict[bytes, frozenset[bytes]] = {}
    for record in records:
        named = frozenset(
            record.chunks[at : at + CHUNK_ID_LENGTH] for at in range(0, len(record.chunks), CHUNK_ID_LENGTH)
        )
        known = damage.get(record.pack_id)
        whole = not named or (known is not None and not known)
        damage[record.pack_id] = frozenset() if whole else named | (known or frozenset())
    return damage


def read_hurt(store: ObjectStore) -> frozenset[bytes]:
    """Return the ids of the manifests of which the last check could not have restored everything."""
    listed = steadily(lambda: store.read_whole(ObjectKind.VERIFIED, {}, lambda payload: decode(payload, CheckedRecord)))
    told = [(record.checked_ns, record.hurt) for record in listed.found.values() if record.hurt is not None]
    return split_ids(max(told)[1]) if told else frozenset()
