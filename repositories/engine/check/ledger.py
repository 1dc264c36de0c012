"""What earlier checks have proven: per pack the time at which it was last read whole, and the damage that stands.

Owns the reading of those records, the order in which packs are read, and which records have become superfluous. Times
are those of the checking machines: they decide what is read first and what is told, never what is deleted or trusted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from repositories.engine.check.places import Places
from repositories.engine.check.report import CheckRequest, PackResult, Proof
from repositories.engine.display import show_text, show_time
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.format.verification import CheckedRecord, DamageRecord
from repositories.engine.objects.store import ObjectStore, steadily
from repositories.engine.prune.compact import IndexedPack
from repositories.engine.sessions.fences import split_ids
from repositories.engine.sessions.views import damaged_chunks, read_damage_records

_CHECKED = partial(decode, record_type=CheckedRecord)


@dataclass(frozen=True, slots=True)
class Ledger:
    """`proven`: pack → when it was last read whole, ns. `damage`: the records that stand, by their ids."""

    proven: Mapping[bytes, int]
    damage: Mapping[bytes, DamageRecord]

    def damage_of(self) -> dict[bytes, list[bytes]]:
        """Return the damage records of each pack: pack → ids of records."""
        of: dict[bytes, list[bytes]] = {}
        for damage_id, record in self.damage.items():
            of.setdefault(record.pack_id, []).append(damage_id)
        return of


def read_ledger(store: ObjectStore, now_ns: int) -> Ledger:
    """Return what is remembered. What claims to have been checked after `now_ns` proves nothing: a clock was wrong."""
    proven: dict[bytes, int] = {}
    for record in read_results(store).values():
        if record.checked_ns <= now_ns:
            for pack_id in split_ids(record.packs):
                proven[pack_id] = max(record.checked_ns, proven.get(pack_id, record.checked_ns))
    return Ledger(proven, read_damage_records(store))


def reading_order(
    packs: Iterable[IndexedPack], ledger: Ledger, doubtful: Collection[bytes], request: CheckRequest
) -> list[IndexedPack]:
    """Return the packs to read, in order: `doubtful` ones always and first, then those that were read longest ago.

    Of those no more than `read_percent` of all bytes; at least one pack, so that rare checks go round, too.
    """
    packs = list(packs)
    first = [pack for pack in packs if pack.pack_id in doubtful]
    if not request.read_data:
        return first
    others = sorted(
        (pack for pack in packs if pack.pack_id not in doubtful), key=lambda each: ledger.proven.get(each.pack_id, -1)
    )
    left = sum(pack.length for pack in others) * request.read_percent / 100
    for number, pack in enumerate(others):
        if left <= 0:
            return first + others[:number]
        left -= pack.length
    return first + others


def standing_damage(places: Places, ledger: Ledger, looked_at: Collection[bytes]) -> list[PackResult]:
    """Return the damage that is known of packs that were not `looked_at` now."""
    reasons = {record.pack_id: record for record in ledger.damage.values()}
    known: list[PackResult] = []
    for pack_id, chunks in damaged_chunks(ledger.damage.values()).items():
        if places.number_of(pack_id) is None or pack_id in looked_at:
            continue
        bad = tuple(each for each in places.chunks_of(pack_id) if not chunks or each in chunks)
        record = reasons[pack_id]
        reason = f"found damaged on {show_time(record.found_ns)}, not read again: {show_text(record.reason)}"
        known.append(PackResult(places.record_of(pack_id), 0, bad, reason, read=False))
    return known


def prove(
    packs: Iterable[IndexedPack], ledger: Ledger, looks: tuple[Collection[bytes], Collection[bytes]], now_ns: int
) -> Proof:
    """Return how much is proven after this check. `looks`: packs that were read, and those in a bad way."""
    read, bad = looks
    counts: Counter[str] = Counter(read_packs=len(read))
    oldest: list[int] = []
    for pack in packs:
        when = now_ns if pack.pack_id in read else ledger.proven.get(pack.pack_id)
        good = when is not None and pack.pack_id not in bad
        states = {"unread": pack.pack_id not in read, "never": when is None, "good": good}
        counts["packs"] += 1
        counts["bytes"] += pack.length
        for state in (each for each, holds in states.items() if holds):
            counts[f"{state}_packs"] += 1
            counts[f"{state}_bytes"] += pack.length
        if good and when is not None:
            oldest.append(when)
    return Proof(**counts, oldest_ns=min(oldest, default=None))


def read_results(store: ObjectStore) -> dict[bytes, CheckedRecord]:
    """Return all that checks have recorded but damage. Unreadable records tell nothing."""
    return dict(steadily(lambda: store.read_whole(ObjectKind.VERIFIED, {}, _CHECKED)).found)
