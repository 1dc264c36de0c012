"""Manifests that are void: put by a session that a prune had given up on (engine.md, section 5).

Owns their listing. They are no backups: what they refer to may be gone.
"""

from dataclasses import dataclass

from repositories.engine.errors import IntegrityError
from repositories.engine.format.commits import CopiedFrom, CopiedManifestRecord
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import decode
from repositories.engine.manifest.root import BackupRoot, decode_root
from repositories.engine.objects.store import steadily
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import read_newest_sweep


@dataclass(frozen=True, slots=True)
class VoidManifest:
    """One of them: `root_bytes` as they were committed; `copied` and `received_ns` as in every manifest."""

    manifest_id: bytes
    root: BackupRoot
    root_bytes: bytes
    received_ns: int
    copied: CopiedFrom | None


def void_manifests(repository: Repository) -> list[VoidManifest]:
    """Return the void manifests that can be read and that nobody deleted, oldest first."""
    store = repository.store
    if not read_newest_sweep(store).number:
        return []
    listed = steadily(
        lambda: store.read_whole(ObjectKind.MANIFEST, {}, lambda payload: decode(payload, CopiedManifestRecord))
    )
    # After the manifests: of each that was listed this sweep speaks.
    sweep = read_newest_sweep(store)
    deleted = repository.notes().deleted(repository.clock.now_ns())
    found: list[VoidManifest] = []
    for manifest_id, record in listed.found.items():
        if manifest_id in deleted or sweep.accepts_manifest(manifest_id, record.fence):
            continue
        try:
            root = decode_root(record.root)
        except IntegrityError:
            continue
        found.append(VoidManifest(manifest_id, root, record.root, record.received_ns, record.copied))
    return sorted(found, key=lambda each: (each.received_ns, each.manifest_id))
