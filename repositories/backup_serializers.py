"""JSON of backups: the filters of their list, and what the catalogue tells of one (H3).

Owns names and forms of the fields. Every foreign text is shown text.
"""

from typing import Any

from rest_framework import serializers

from repositories.backup_listing import BACKUP_ORDERINGS, COMPLETE, PARTIAL
from repositories.engine.display import show_text
from repositories.models import Backup
from syncova_project.instant_field import InstantField
from syncova_project.instants import instant
from syncova_project.paging import DEFAULT_LIMIT, MAX_LIMIT
from syncova_project.rest import Choice, StrictSerializer


class BackupFilter(StrictSerializer):
    """The query parameters of GET /backups; `since` counts, `until` does not."""

    repository = serializers.UUIDField(required=False)
    job = serializers.UUIDField(required=False)
    source = serializers.UUIDField(required=False)  # type: ignore[assignment]
    source_name = serializers.CharField(max_length=1000, trim_whitespace=False, required=False)
    run = serializers.UUIDField(required=False)
    manifest = serializers.CharField(max_length=32, required=False)
    state = Choice((COMPLETE, PARTIAL), required=False)
    since = InstantField(required=False)
    until = InstantField(required=False)
    ordering = Choice(tuple(BACKUP_ORDERINGS), default="-created_at")
    cursor = serializers.CharField(max_length=2000, default="")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


def backup_json(backup: Backup) -> dict[str, Any]:
    """Return a backup as the API shows it: where its manifest lies, what it comes from, and its figures in bytes.

    `run`, `job` and `source` may be ids of what is not there any more: backups outlive them.
    """
    return {
        "id": str(backup.id),
        "backup_id": backup.backup_id,
        "manifest_id": backup.manifest_id,
        "repository": {"id": str(backup.repository_id), "name": show_text(backup.repository.name)},
        "created_at": instant(backup.created_at),
        "state": PARTIAL if backup.skipped else COMPLETE,
        "late": backup.is_late,
        "lineage": {"mode": backup.mode, "chain": show_text(backup.chain), "parent": _text(backup.parent)},
        "source": {
            "id": _id(backup.source_id),
            "name": show_text(backup.source_name),
            "type": show_text(backup.source_type),
            "host": show_text(backup.host),
        },
        "origin": {
            "run": _id(backup.run_id),
            "job": _id(backup.job_id),
            "trigger": show_text(backup.trigger),
            "scheduled_for": instant(backup.scheduled_for),
        },
        "files": backup.files,
        "logical_bytes": backup.logical_bytes,
        "bytes_read": backup.bytes_read,
        "bytes_added": backup.bytes_stored,
        "problems": {"skipped": backup.skipped, "warnings": backup.warnings},
    }


def _id(value: object) -> str | None:
    return None if value is None else str(value)


def _text(value: str | None) -> str | None:
    return None if value is None else show_text(value)
