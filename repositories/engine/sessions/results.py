"""Which results of checks later ones have made superfluous, pure.

Owns the decision; only a sweep removes them.
"""

from collections.abc import Collection, Mapping

from repositories.engine.format.verification import CheckedRecord
from repositories.engine.sessions.fences import split_ids


def superfluous_results(
    records: Mapping[bytes, CheckedRecord], gone: Collection[bytes], now_ns: int
) -> frozenset[bytes]:
    """Return the ids of `records` that tell nothing any more. `gone` are packs that are not there.

    A record stays while it is the newest that says which backups are hurt, or the newest for a pack that is there.
    What claims to have been checked after `now_ns` proves nothing of packs, so that no earlier record goes for it.
    """
    times = {each: record.checked_ns for each, record in records.items()}
    telling = [each for each, record in records.items() if record.hurt is not None]
    keep = {max(telling, key=lambda each: (times[each], each))} if telling else set()
    told: set[bytes] = set(gone)
    for record_id in sorted(records, key=lambda each: (times[each] <= now_ns, times[each], each), reverse=True):
        fresh = split_ids(records[record_id].packs) - told
        if fresh:
            keep.add(record_id)
        told |= fresh
    return frozenset(records.keys() - keep)
