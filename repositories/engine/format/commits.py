"""Records of commits: the manifest object that makes a backup, and the checkpoint of an unfinished one.

Owns the outer record; the root inside is defined by the manifest layer and opaque here.
"""

from repositories.engine.format.records import Record


class ManifestRecord(Record, frozen=True):
    """What `manifests/<id>` seals. It counts only if its fence is accepted (engine.md, section 5)."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes
    root: bytes


class CheckpointRecord(Record, frozen=True):
    """What `checkpoints/<id>` seals: the stream so far; never listed as a backup."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes
    root: bytes
