"""Backups of which nobody can know any more whether they count: the sweep that would tell is lost in both copies.

Owns which those are, and that they are named: in the report, and by a note that stays with each. A backup that another
one found when it was made was listed then, and what is listed stays accepted by every later sweep. So only those are
in doubt that no other names, or whose session never came to its end.
"""

from collections.abc import Mapping
from typing import Final

from repositories.engine.clock import Clock
from repositories.engine.display import show_text
from repositories.engine.errors import IntegrityError
from repositories.engine.format.commits import CopiedManifestRecord
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.format.notes import AnnotationKind
from repositories.engine.manifest.root import BackupRoot, decode_root
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repair.records import whole_records
from repositories.engine.repair.report import Steps
from repositories.engine.retention.deleted import NotesReader
from repositories.engine.retention.writing import NotesWriter
from repositories.engine.sessions.half_done import read_leases

NOTE: Final = "a damaged sweep cannot tell any more whether a prune gave this backup up; check tells if all is there"


def name_doubtful(store: ObjectStore, clock: Clock, among: frozenset[bytes], steps: Steps) -> None:
    """Put a note on each doubtful backup of these manifests and name it. Raises what putting a note raises."""
    records = whole_records(store, ObjectKind.MANIFEST, CopiedManifestRecord)
    roots = _roots(records)
    linked = {each for root in roots.values() for each in _named_by(root)}
    leases = read_leases(store)
    notes, writer = NotesReader(store).read(), NotesWriter(store, clock)
    for manifest_id in sorted(among & roots.keys() - notes.deletions.keys()):
        if manifest_id in linked and records[manifest_id].session_id not in leases:
            continue
        if not any(each.text == NOTE for each in notes.of(manifest_id)):
            writer.annotate(AnnotationKind.NOTE, manifest_id, NOTE)
        root = roots[manifest_id]
        steps.fail(
            "manifest",
            object_name(ObjectKind.MANIFEST, manifest_id),
            f"backup {show_text(root.backup_id)} of {show_text(root.source.name)} is listed, but whether a prune had "
            "given it up cannot be known any more: what it lacks, if anything, is named below",
        )


def _roots(records: Mapping[bytes, CopiedManifestRecord]) -> dict[bytes, BackupRoot]:
    roots: dict[bytes, BackupRoot] = {}
    for manifest_id, record in records.items():
        try:
            roots[manifest_id] = decode_root(record.root)
        except IntegrityError:
            continue
    return roots


def _named_by(root: BackupRoot) -> set[bytes]:
    parent = root.lineage.parent_manifest
    return set(root.lineage.heads) | (set() if parent is None else {parent})
