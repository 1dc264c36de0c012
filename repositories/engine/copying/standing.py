"""Where a copy stands among the backups of the target: its number, its parent there, the heads that it links.

Owns that rule (docs/repository-format.md, section 9): the order of backups is that of their receipt, so that a copy of
an old backup never becomes the newest of its source.
"""

from dataclasses import dataclass

from repositories.engine.copying.raw_records import as_raw, fields_of, with_fields
from repositories.engine.errors import IntegrityError
from repositories.engine.limits import MAX_ROOT
from repositories.engine.manifest.root import MAX_HEADS, BackupRoot, decode_root
from repositories.engine.repository import Repository, StoredManifest

_HIGHEST_SEQUENCE = 2**62
_LINEAGE = 3
_SEQUENCE, _PARENT_MANIFEST, _HEADS, _GENERATION = 0, 4, 5, 6


@dataclass(frozen=True, slots=True)
class Standing:
    """A backup of the target. `copied_from` is the manifest in the origin of which it is a copy, if it is one."""

    manifest_id: str
    received_ns: int
    root: BackupRoot
    deleted: bool
    copied_from: bytes | None


class TargetBackups:
    """All backups of the target, deleted ones too; `look` finds those that others commit meanwhile."""

    def __init__(self, repository: Repository, origin_id: bytes) -> None:
        self._repository = repository
        self._origin_id = origin_id
        self._known: dict[str, Standing | None] = {}
        self._by_id: dict[str, Standing] = {}
        self.look()

    def look(self) -> None:
        """List the target again. Raises the storage's errors."""
        known: dict[str, Standing | None] = {}
        for stored in self._repository.backups(deleted=True):
            standing = self._known.get(stored.object_id)
            if standing is None or standing.deleted != stored.deleted:
                standing = self._read(stored)
            known[stored.object_id] = standing
        self._known = known
        found = (each for each in known.values() if each is not None)
        # Of several with one id the one that counts is meant.
        self._by_id = {each.root.backup_id: each for each in sorted(found, key=lambda each: not each.deleted)}

    def find(self, backup_id: str) -> Standing | None:
        """Return the backup of this id, if the target has it."""
        return self._by_id.get(backup_id)

    def has_another(self, backup_id: str, manifest_id: str) -> bool:
        """Tell whether a manifest other than this one makes the same backup, and is not deleted."""
        return any(
            each.root.backup_id == backup_id and each.manifest_id != manifest_id and not each.deleted
            for each in self._known.values()
            if each is not None
        )

    def lineage_for(self, root: BackupRoot, received_ns: int) -> dict[int, object]:
        """Return the fields of the lineage that differ in the target."""
        parent = self._by_id.get(root.lineage.parent or "")
        return {
            _SEQUENCE: self._sequence(received_ns),
            _PARENT_MANIFEST: None if parent is None else bytes.fromhex(parent.manifest_id),
            _HEADS: self._heads(),
            _GENERATION: self._repository.keyring.generation,
        }

    def _read(self, stored: StoredManifest) -> Standing | None:
        try:
            root = decode_root(stored.root)
        except IntegrityError:
            return None
        copied = stored.copied
        ours = copied is not None and copied.repository_id == self._origin_id
        copied_from = copied.manifest_id if copied is not None and ours else None
        return Standing(stored.object_id, stored.received_ns, root, stored.deleted, copied_from)

    def _sequence(self, received_ns: int) -> int:
        """Return the number that sorts it by its time of receipt, which decides among equal numbers."""
        backups = self._by_id.values()
        earlier = max((each.root.lineage.sequence for each in backups if each.received_ns <= received_ns), default=0)
        later = any(each.received_ns > received_ns for each in backups)
        return min(earlier, _HIGHEST_SEQUENCE) + (not later)

    def _heads(self) -> list[bytes]:
        linked = {head for each in self._by_id.values() for head in each.root.lineage.heads}
        found = [
            identity for each in self._by_id.values() if (identity := bytes.fromhex(each.manifest_id)) not in linked
        ]
        return found[-MAX_HEADS:]


def root_in_target(raw: bytes, changes: dict[int, object], lineage: dict[int, object]) -> bytes:
    """Return the root of a copy: the original's with these fields changed, all else byte for byte.

    Raises IntegrityError where no reader would take it.
    """
    fields = fields_of(raw)
    made = with_fields(raw, {**changes, _LINEAGE: as_raw(with_fields(fields[_LINEAGE], lineage))})
    if len(made) > MAX_ROOT:
        # The heads only help to notice backups that were taken away: a copy without them is better than none.
        made = with_fields(raw, {**changes, _LINEAGE: as_raw(with_fields(fields[_LINEAGE], {**lineage, _HEADS: []}))})
    if len(made) > MAX_ROOT:
        raise IntegrityError(f"its root of {len(made):,} bytes would be over the limit of {MAX_ROOT:,}")
    decode_root(made)
    return made
