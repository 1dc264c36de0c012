"""Records that speak about backups after the fact: annotations and tombstones.

Owns the fields only. A hold wins over a concurrent tombstone; a tombstone is undone by one that names it, until the
sweep.
"""

import enum

from repositories.engine.format.records import Record


class AnnotationKind(enum.IntEnum):
    """What an annotation says."""

    TAG = 1
    HOLD = 2
    NOTE = 3
    TAG_TAKEN = 4
    """A tag that the backup was made with counts no longer."""


class AnnotationRecord(Record, frozen=True):
    """What `annotations/<id>` seals. `withdraws` names an annotation that this one ends."""

    kind: int
    manifest_id: bytes
    created_ns: int
    text: str
    expires_ns: int | None = None
    withdraws: bytes | None = None


class CopiedAnnotationRecord(AnnotationRecord, frozen=True):
    """An annotation of either origin: with `copied` it came with a copy, and that is the id under which it was put
    first, in whatever repository that was.
    """

    copied: bytes | None = None


class TombstoneRecord(Record, frozen=True):
    """What `tombstones/<id>` seals: these manifests are deleted.

    With `undoes` nothing is deleted: that tombstone's deletion of these manifests is undone; none named means all.
    """

    manifests: tuple[bytes, ...]
    created_ns: int
    reason: str
    undoes: bytes | None = None
