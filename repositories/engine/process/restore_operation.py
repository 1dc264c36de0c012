"""The operation `restore`: choose the backup, restore it, tell what became of every object.

Owns the result's shape. The engine's restore owns all the rest.
"""

import base64
from typing import Any

from repositories.engine.backup.options import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import path_fields, show_count, show_text, time_field
from repositories.engine.errors import BackupNotFoundError, ConfigurationError, IntegrityError
from repositories.engine.manifest.backups import Backup, find_backup
from repositories.engine.process.channel import Channel
from repositories.engine.process.introduction import introduce
from repositories.engine.process.paths import inner_path
from repositories.engine.process.protocol import Log
from repositories.engine.process.reports import bucket_of, progress_event
from repositories.engine.process.requests import Request, RestoreOrder
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.repository import Repository
from repositories.engine.restore import Overwrite, RestoreRequest, RestoreResult, restore
from repositories.engine.storage.locations import directories_of

RESTORED, PARTIAL, DAMAGED = "restored", "partial", "damaged"


def restore_backup(request: Request, channel: Channel) -> dict[str, Any]:
    """Restore what the request orders. Damaged content is left out and told; all else is restored."""
    order = request.restore
    if order is None:
        raise ConfigurationError("a restore needs an order", hint="this is a defect of the caller")
    overwrite = _overwrite(order)
    bucket = bucket_of(request, channel)
    repository = introduce(request, channel)
    backup = _find(repository, order)
    for name in repository.damaged_manifests():
        # The newest that is left may not be the newest that there was.
        channel.send(Log(level="warning", message=f"{name} is damaged in both copies: that backup is lost"))
    paths = tuple(inner_path(path, backup.root.source.id) for path in order.paths)

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(report=ProgressGate(report, SYSTEM_CLOCK.monotonic), cancelled=channel.cancelled, read_bucket=bucket)
    wanted = RestoreRequest(order.target, paths, overwrite, order.verify, directories_of(repository.storage))
    return restore_fields(backup, order.target, restore(repository, backup, wanted, hooks))


def _find(repository: Repository, order: RestoreOrder) -> Backup:
    """Return the wanted backup. Raises BackupNotFoundError, or IntegrityError when it may be a damaged one."""
    try:
        return find_backup(repository, order.backup, order.source, at_ns=order.at_ns)
    except BackupNotFoundError as error:
        damaged = repository.damaged_manifests()
        if not damaged:
            raise
        raise IntegrityError(
            f"{error.message}; {show_count(len(damaged), 'manifest')} cannot be read in either copy, "
            f"the first is {damaged[0]}",
            hint="run check; bring the manifest back from a copy of the repository",
        ) from error


def restore_fields(backup: Backup, target: bytes, result: RestoreResult) -> dict[str, Any]:
    """Return a restore's result as JSON values; the path lists hold the first 100 of each."""
    return {
        "backup_id": show_text(backup.id),
        "short_id": backup.short_id,
        "source": show_text(backup.source_name),
        "time": time_field(backup.received_ns),
        **_target_fields(target),
        "state": {0: RESTORED, 13: DAMAGED}.get(result.exit_code, PARTIAL),
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
        "warnings": dict(result.warnings),
        "kept_paths": [_object_fields(path) for path in result.kept_paths],
        "damaged_paths": [_object_fields(path) for path in result.damaged_paths],
        "failed_paths": [{**_object_fields(path), "reason": show_text(reason)} for path, reason in result.failed_paths],
    }


def _object_fields(path: bytes) -> dict[str, str]:
    """Return a path's fields; the root of the source is shown as the dot."""
    return path_fields(path or b".")


def _target_fields(target: bytes) -> dict[str, str]:
    shown = path_fields(target)
    fields = {"target": shown["path"]}
    if "path_base64" in shown:
        fields["target_base64"] = base64.b64encode(target).decode("ascii")
    return fields


def _overwrite(order: RestoreOrder) -> Overwrite:
    try:
        return Overwrite(order.overwrite)
    except ValueError:
        raise ConfigurationError(
            f"{show_text(order.overwrite)} says nothing about what to overwrite",
            hint=f"use one of {', '.join(Overwrite)}",
        ) from None
