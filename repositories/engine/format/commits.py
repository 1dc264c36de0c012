"""Records of commits: the manifest object that makes a backup, and the checkpoint of an unfinished one.

Owns the outer record; the root inside is defined by the manifest layer and opaque here.
"""

from repositories.engine.format.records import ObjectId, Record


class ManifestRecord(Record, frozen=True):
    """What `manifests/<id>` seals. It counts only if its fence is accepted (engine.md, section 5)."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes
    root: bytes


class CopiedFrom(Record, frozen=True):
    """Of which manifest in which repository a backup is a copy, and when it was made by the writer's clock.

    Where that was a copy itself, the two last fields name the repository that the backup was made in, and its manifest.
    """

    repository_id: ObjectId
    manifest_id: ObjectId
    copied_ns: int
    first_repository_id: ObjectId | None = None
    first_manifest_id: ObjectId | None = None


class CopiedManifestRecord(ManifestRecord, frozen=True):
    """A manifest of either kind: with `copied` it is a copy, and `received_ns` is when the original was received."""

    copied: CopiedFrom | None = None


class CheckpointRecord(Record, frozen=True):
    """What `checkpoints/<id>` seals: the stream so far; never listed as a backup."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes
    root: bytes
