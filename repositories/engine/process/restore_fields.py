"""What a restore, or its plan, says in JSON.

Owns the names and shapes; fields are only ever added. Path lists hold the first 100 of each.
"""

import base64
from collections.abc import Sequence
from typing import Any, Final

from repositories.engine.display import path_fields, show_text, time_field
from repositories.engine.manifest.backups import Backup
from repositories.engine.restore import DeletionResult, RestorePlan, RestoreResult
from repositories.engine.restore.shortfalls import Shortfall

RESTORED, PARTIAL, DAMAGED, PLANNED = "restored", "partial", "damaged", "planned"
_SKIPPED: Final = 3


def restore_fields(backup: Backup, target: bytes, result: RestoreResult) -> dict[str, Any]:
    """Return a restore's result."""
    return {
        **_head(backup, target),
        "state": DAMAGED if result.damaged else RESTORED if result.exit_code == 0 else PARTIAL,
        "exit_code": result.exit_code,
        "files": result.files,
        "directories": result.directories,
        "links": result.links,
        "others": result.others,
        "bytes": result.bytes_written,
        "existing": result.existing,
        "kept": result.kept,
        "damaged": result.damaged,
        "failed": result.failed,
        "verified_files": result.verified_files,
        "not_compared": result.not_compared,
        "unverified": result.unverified,
        "collided": result.collided,
        "swapped": result.swapped,
        "warnings": dict(result.warnings),
        "kept_paths": _paths(result.kept_paths),
        "damaged_paths": _paths(result.damaged_paths),
        "failed_paths": _reasons(result.failed_paths),
        "collided_paths": [
            {**_object_fields(path), "with": _object_fields(rival)} for path, rival in result.collided_paths
        ],
        "swapped_paths": _paths(result.swapped_paths),
        "shortfalls": [_shortfall_fields(each) for each in result.shortfalls],
        "deletion": _deletion_fields(result.deletion),
    }


def plan_fields(backup: Backup, target: bytes, plan: RestorePlan) -> dict[str, Any]:
    """Return what a restore would do."""
    return {
        **_head(backup, target),
        "state": DAMAGED if plan.damaged else PLANNED,
        "exit_code": plan.exit_code,
        "planned_ns": plan.planned_ns,
        "created": plan.created,
        "created_bytes": plan.created_bytes,
        "replaced": plan.replaced,
        "replaced_bytes": plan.replaced_bytes,
        "existing": plan.existing,
        "kept": plan.kept,
        "unknown": plan.unknown,
        "damaged": plan.damaged,
        "created_paths": _paths(plan.created_paths),
        "replaced_paths": _paths(plan.replaced_paths),
        "kept_paths": _paths(plan.kept_paths),
        "unknown_paths": _paths(plan.unknown_paths),
        "damaged_paths": _paths(plan.damaged_paths),
        "deletion": _deletion_fields(plan.deletion),
    }


def doubted(
    fields: dict[str, Any], lost: Sequence[str], *, inventory_lost: bool = False, sweep_lost: bool = False
) -> dict[str, Any]:
    """Return the same for a backup that was taken for the newest, though any of the `lost` may be newer.

    With `inventory_lost` it was chosen among those backups alone that the newest keys have sealed, with `sweep_lost`
    among all that are whole, such as count no more with them.
    """
    told = {
        **fields,
        "lost_manifests": [show_text(name) for name in lost],
        "inventory_lost": inventory_lost,
        "sweep_lost": sweep_lost,
    }
    if (lost or inventory_lost or sweep_lost) and fields["exit_code"] == 0:
        told["exit_code"] = _SKIPPED
        told["state"] = PARTIAL if fields["state"] == RESTORED else fields["state"]
    return told


def _deletion_fields(deletion: DeletionResult | None) -> dict[str, Any] | None:
    if deletion is None:
        return None
    return {
        "scope": _paths(deletion.scope),
        "deleted": deletion.deleted,
        "deleted_bytes": deletion.deleted_bytes,
        "spared": deletion.spared,
        "failed": deletion.failed,
        "refused": deletion.refused,
        "deleted_paths": [{**_object_fields(path), "objects": count} for path, count in deletion.deleted_paths],
        "spared_paths": _reasons(deletion.spared_paths),
        "failed_paths": _reasons(deletion.failed_paths),
    }


def _shortfall_fields(shortfall: Shortfall) -> dict[str, Any]:
    where = path_fields(shortfall.file_system.mount_point)
    return {
        "class": shortfall.kind,
        "count": shortfall.count,
        **{name.replace("path", "mount_point"): value for name, value in where.items()},
        "file_system": show_text(shortfall.file_system.type),
        "reason": show_text(shortfall.reason),
        "example": _object_fields(shortfall.example),
    }


def _head(backup: Backup, target: bytes) -> dict[str, Any]:
    return {
        "backup_id": show_text(backup.id),
        "short_id": backup.short_id,
        "source": show_text(backup.source_name),
        "time": time_field(backup.received_ns),
        "skipped_by_backup": backup.root.statistics.skipped,
        **_target_fields(target),
    }


def _paths(paths: list[bytes]) -> list[dict[str, str]]:
    return [_object_fields(path) for path in paths]


def _reasons(paths: list[tuple[bytes, str]]) -> list[dict[str, str]]:
    return [{**_object_fields(path), "reason": show_text(reason)} for path, reason in paths]


def _object_fields(path: bytes) -> dict[str, str]:
    """Return a path's fields; the root of the source is shown as the dot."""
    return path_fields(path or b".")


def _target_fields(target: bytes) -> dict[str, str]:
    shown = path_fields(target)
    fields = {"target": shown["path"]}
    if "path_base64" in shown:
        fields["target_base64"] = base64.b64encode(target).decode("ascii")
    return fields
