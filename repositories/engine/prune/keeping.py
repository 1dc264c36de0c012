"""Which manifests and checkpoints a prune keeps, and the walk over those.

Owns the choice: what counts by the fence rule and is not deleted; checkpoints that are younger than 14 days and newer
than the last backup of their source. A backup that was walked once is kept by this prune, whatever is said meanwhile. A
void manifest is left to repair for the same 14 days.
"""

from dataclasses import dataclass
from typing import Final

from repositories.engine.errors import (
    BackupUnreadableError,
    EngineError,
    IntegrityError,
    ObjectMissingError,
    RetiredKeyError,
    UnsupportedFormatError,
)
from repositories.engine.format.commits import CheckpointRecord, CopiedManifestRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.records import decode
from repositories.engine.manifest.root import BackupRoot, decode_root
from repositories.engine.manifest.unfinished import SourceKey, source_of
from repositories.engine.manifest.withheld import name_of, named_by
from repositories.engine.objects.store import ObjectStore
from repositories.engine.objects.torn import was_torn
from repositories.engine.prune.liveness import Liveness
from repositories.engine.sessions.fences import SweepView

UNFINISHED_LIFE_NS: Final = 14 * 24 * 3600 * 1_000_000_000
_UNREADABLE = (IntegrityError, UnsupportedFormatError)


@dataclass(frozen=True, slots=True)
class Listed:
    """Names of manifests and checkpoints as they were listed, before the segments were."""

    manifests: tuple[bytes, ...]
    checkpoints: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a sweep names, and what goes with it: deleted or torn manifests, checkpoints that are of no more use.

    `void_gone` are manifests that have been void for so long that they go, too: they never were backups.
    """

    manifests: frozenset[bytes]
    checkpoints: frozenset[bytes]
    manifests_gone: frozenset[bytes]
    checkpoints_gone: frozenset[bytes]
    deleted: int
    void_gone: frozenset[bytes] = frozenset()


def list_backups(store: ObjectStore) -> Listed:
    """List what might be kept: always before the segments are listed."""
    return Listed(tuple(store.ids(ObjectKind.MANIFEST)), tuple(store.ids(ObjectKind.CHECKPOINT)))


class Keeper:
    """Walks what is kept. One `keep` after the other sees what has changed in between.

    `highest_fence` is that of all that was read, whether it counts or not; `named` are the manifests that those name
    which count, deleted or not.
    """

    def __init__(self, store: ObjectStore, liveness: Liveness, now_ns: int) -> None:
        self._store = store
        self._liveness = liveness
        self._now_ns = now_ns
        self._walked: set[bytes] = set()
        self._fences: dict[bytes, int] = {}
        self._newest: dict[SourceKey, int] = {}
        self._useless: set[bytes] = set()
        self._long_void: set[bytes] = set()
        self.highest_fence = 0
        self.named: dict[bytes, str] = {}

    def keep(self, listed: Listed, sweep: SweepView, deleted: frozenset[bytes], mark: int | None = None) -> Kept:
        """Walk what counts and is not `deleted`; return what stays and what goes.

        What was put under this prune's `mark` counts whatever its sweep names, so that a deletion of it may be undone
        at any moment: it waits for the next prune. Raises BackupUnreadableError if anything that counts cannot be read,
        and the storage's errors.
        """
        kept: set[bytes] = set()
        gone: set[bytes] = set()
        for manifest_id in listed.manifests:
            verdict = self._manifest(manifest_id, sweep, deleted)
            kept.update([manifest_id] if verdict == "kept" else ())
            late = mark is not None and self._fences.get(manifest_id, 0) >= mark
            gone.update([manifest_id] if verdict == "gone" and not late else ())
        checkpoints = {each for each in listed.checkpoints if self._checkpoint(each, sweep)}
        useless = (self._useless & set(listed.checkpoints)) - checkpoints
        counted_gone = sum(each in deleted for each in gone)
        void = frozenset(self._long_void.intersection(listed.manifests))
        return Kept(frozenset(kept), frozenset(checkpoints), frozenset(gone), frozenset(useless), counted_gone, void)

    def _manifest(self, manifest_id: bytes, sweep: SweepView, deleted: frozenset[bytes]) -> str:
        """Return `kept`, `gone`, `void` (never a backup) or `unseen` (taken back by its writer, or a retired key's)."""
        if manifest_id in self._walked:
            counts = sweep.accepts_manifest(manifest_id, self._fences[manifest_id])
            return "kept" if counts else "void"
        try:
            record = decode(self._store.read(ObjectKind.MANIFEST, manifest_id), CopiedManifestRecord)
            root = decode_root(record.root)
        except (ObjectMissingError, RetiredKeyError):
            return "unseen"
        except _UNREADABLE as error:
            return self._unreadable(manifest_id, deleted, error)
        self._note(root)
        self._fences[manifest_id] = record.fence
        self.highest_fence = max(self.highest_fence, record.fence)
        counts = sweep.accepts_manifest(manifest_id, record.fence)
        if counts:
            self.named.update(dict.fromkeys(named_by(root), name_of(root)))
        if manifest_id in deleted:
            return "gone"
        if not counts:
            self._note_void(manifest_id, record)
            return "void"
        self._liveness.add(root)
        self._walked.add(manifest_id)
        return "kept"

    def _unreadable(self, manifest_id: bytes, deleted: frozenset[bytes], error: EngineError) -> str:
        if manifest_id in deleted or was_torn(self._store.storage, ObjectKind.MANIFEST, manifest_id):
            return "gone"
        raise BackupUnreadableError(
            f"{object_name(ObjectKind.MANIFEST, manifest_id)} cannot be read: {error.message}; nothing was deleted",
            hint="bring it back from a copy of the repository, or forget it; then prune again",
        ) from error

    def _note(self, root: BackupRoot) -> None:
        source = source_of(root)
        self._newest[source] = max(self._newest.get(source, 0), root.lineage.sequence)

    def _note_void(self, manifest_id: bytes, record: CopiedManifestRecord) -> None:
        put_ns = record.received_ns if record.copied is None else record.copied.copied_ns
        if self._now_ns - put_ns >= UNFINISHED_LIFE_NS:
            self._long_void.add(manifest_id)

    def _checkpoint(self, checkpoint_id: bytes, sweep: SweepView) -> bool:
        if checkpoint_id in self._useless:
            return False
        try:
            record = decode(self._store.read(ObjectKind.CHECKPOINT, checkpoint_id), CheckpointRecord)
            self.highest_fence = max(self.highest_fence, record.fence)
            root = decode_root(record.root)
        except (ObjectMissingError, RetiredKeyError):
            return False
        except _UNREADABLE:
            self._useless.add(checkpoint_id)
            return False
        young = self._now_ns - record.received_ns < UNFINISHED_LIFE_NS
        newer = root.lineage.sequence > self._newest.get(source_of(root), 0)
        if not (young and newer and sweep.accepts_checkpoint(checkpoint_id, record.fence) and self._walk(root)):
            self._useless.add(checkpoint_id)
            return False
        return True

    def _walk(self, root: BackupRoot) -> bool:
        """Walk a checkpoint; one that cannot be read is of no use, and nobody relies on it."""
        try:
            self._liveness.add(root)
        except BackupUnreadableError:
            return False
        return True
