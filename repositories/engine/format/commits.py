"""Records of commits: the manifest object that makes a backup, and the checkpoint of an unfinished one.

Owns the outer record; the root inside is defined by the manifest layer and opaque here.
"""

from typing import Annotated

import msgspec

from repositories.engine.format.records import ObjectId, Record
from repositories.engine.limits import MAX_ROOT

Root = Annotated[bytes, msgspec.Meta(max_length=MAX_ROOT)]
"""A longer one is refused before it is kept: many of them must not fill the memory of whoever lists a repository."""


class ManifestRecord(Record, frozen=True):
    """What `manifests/<id>` seals. It counts only if its fence is accepted (engine.md, section 5)."""

    fence: int
    received_ns: int
    generation: int
    session_id: bytes
    root: Root


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
    root: Root
