"""Records of what was checked: packs verified, and damage found.

Owns the fields only.
"""

from repositories.engine.format.records import ObjectId, Record


class VerifiedRecord(Record, frozen=True):
    """What `verified/<id>` seals: these packs (16-byte ids, joined, sorted) were read whole and were good."""

    checked_ns: int
    packs: bytes


class CheckedRecord(VerifiedRecord, frozen=True):
    """A VerifiedRecord with one field more: manifests (ids as above) that could not be restored whole, all looked at.

    None: the record says nothing about backups.
    """

    hurt: bytes | None = None


class DamageRecord(Record, frozen=True):
    """What `damage/<id>` seals: chunks (32-byte ids, joined, sorted) of one pack; none named means the whole pack.

    `withdraws` (16-byte ids, joined, sorted) names damage records of this pack, which a later check found to be whole:
    such a record tells of no damage itself.
    """

    found_ns: int
    pack_id: ObjectId
    chunks: bytes
    reason: str
    withdraws: bytes | None = None
