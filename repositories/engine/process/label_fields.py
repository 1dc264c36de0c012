"""What is said about a backup after the fact, as JSON values: tags, holds, notes, its deletion.

Owns the field names; fields are only ever added. Every foreign text is shown text.
"""

from dataclasses import dataclass
from typing import Any

from repositories.engine.display import show_text, time_field
from repositories.engine.format.notes import AnnotationKind
from repositories.engine.manifest.backups import Backup
from repositories.engine.repository import Repository
from repositories.engine.retention.deleted import Notes
from repositories.engine.retention.standing import tags_of


@dataclass(frozen=True, slots=True)
class Said:
    """What is said about all backups, and the moment at which holds are judged (ns)."""

    notes: Notes
    now_ns: int


def said_now(repository: Repository) -> Said:
    """Return what the repository says now. Raises the storage's errors."""
    return Said(repository.notes(), repository.clock.now_ns())


def label_fields(backup: Backup, said: Said) -> dict[str, Any]:
    """Return a backup's tags, holds in force, remarks, and when and why it was deleted (null: it is not)."""
    manifest_id = bytes.fromhex(backup.manifest_id)
    annotations = said.notes.of(manifest_id)
    return {
        "tags": [show_text(tag) for tag in tags_of(backup.root.origin.tags, annotations)],
        "holds": [
            {
                "reason": show_text(each.text),
                "since": time_field(each.created_ns),
                "until": None if each.expires_ns is None else time_field(each.expires_ns),
            }
            for each in said.notes.holds(manifest_id, said.now_ns)
        ],
        "remarks": [
            {"text": show_text(each.text), "time": time_field(each.created_ns)}
            for each in annotations
            if each.kind == AnnotationKind.NOTE
        ],
        "deleted": _deletion(manifest_id, said.notes) if backup.deleted else None,
    }


def _deletion(manifest_id: bytes, notes: Notes) -> dict[str, Any] | None:
    found = notes.deletions.get(manifest_id, ())
    return {"time": time_field(found[-1].created_ns), "reason": show_text(found[-1].reason)} if found else None
