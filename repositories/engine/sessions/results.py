"""Which results of checks later ones have made superfluous, pure.

Owns the decision; only a sweep removes them.
"""

from collections.abc import Collection, Mapping

from repositories.engine.format.verification import CheckedRecord
from repositories.engine.sessions.fences import split_ids


def superfluous_results(records: Mapping[bytes, CheckedRecord], gone: Collection[bytes]) -> frozenset[bytes]:
    """Return the ids of `records` that tell nothing any more. `gone` are packs that are not there.

    A record stays while it is the newest that says which backups are hurt, or the newest for a pack that is there.
    """
    told: set[bytes] = set(gone)
    keep: set[bytes] = set()
    hurt_told = False
    for record_id in sorted(records, key=lambda each: (records[each].checked_ns, each), reverse=True):
        record = records[record_id]
        fresh = split_ids(record.packs) - told
        if fresh or (record.hurt is not None and not hurt_told):
            keep.add(record_id)
        told |= fresh
        hurt_told = hurt_told or record.hurt is not None
    return frozenset(records.keys() - keep)
