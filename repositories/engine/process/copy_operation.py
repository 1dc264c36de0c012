"""The operation `copy`: backups of the request's repository carried over into another one.

Owns the opening of the second repository and the result's shape. The engine's copying owns all the rest.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from repositories.engine.backup.options import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.copying import CopiedBackup, CopyReport, CopyRequest, copy_backups
from repositories.engine.display import show_text, time_field
from repositories.engine.errors import ConfigurationError, EngineError, StorageFullError
from repositories.engine.manifest.backups import Backup
from repositories.engine.process.channel import Channel
from repositories.engine.process.introduction import introduce
from repositories.engine.process.opening import open_for, watch_states
from repositories.engine.process.protocol import Log
from repositories.engine.process.reports import bucket_of, progress_event
from repositories.engine.process.requests import RepositoryAccess, Request
from repositories.engine.process.taking_back import taking_back
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.repository import Repository


def copy_repository(request: Request, channel: Channel) -> dict[str, Any]:
    """Copy; damage in the origin is a result, not an error."""
    order = request.copy
    if order is None:
        raise ConfigurationError("a copy needs a repository to copy to", hint="this is a defect of the caller")
    bucket = bucket_of(request, channel)
    origin = introduce(request, channel)
    target = _open_target(order.to, channel, writes=not request.dry_run)

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(
        report=ProgressGate(report, SYSTEM_CLOCK.monotonic),
        cancelled=channel.cancelled,
        # No run's lease is asked for: copies of one backup are found to be there by their id.
        read_bucket=bucket,
    )
    wanted = CopyRequest(
        order.backups,
        order.source,
        request.dry_run,
        request.compression,
        flush_seconds=request.checkpoint_seconds,
        guard=partial(taking_back, order.to),
    )
    try:
        done = copy_backups(origin, target, wanted, hooks)
    except StorageFullError as error:
        # Nothing but the target is written to in earnest: an origin that is full is read without a lease.
        raise _of_target(error) from error
    return copy_fields(done, target)


def _open_target(access: RepositoryAccess, channel: Channel, *, writes: bool) -> Repository:
    try:
        target = open_for(access)
        target.warn = lambda told: channel.send(Log(level="warning", message=f"the repository to copy to: {told}"))
        watch_states(access, target, writes=writes)
        if writes:
            target.require_writable()
    except EngineError as error:
        raise _of_target(error) from error
    if access.expected_id is not None and access.expected_id != target.id:
        message = f"the repository to copy to is {target.id}, not {show_text(access.expected_id)}: was it swapped?"
        channel.send(Log(level="warning", message=message))
    return target


def _of_target(error: EngineError) -> EngineError:
    """Return the error as one that says which of the two repositories it is about."""
    return type(error)(f"the repository to copy to: {error.message}", hint=error.hint)


def copy_fields(report: CopyReport, target: Repository) -> dict[str, Any]:
    """Return a copy's report as JSON values; sizes in bytes."""
    return {
        "exit_code": report.exit_code,
        "target_id": target.id,
        "related": report.related,
        "copied": _copied(report.copied),
        "healed": _copied(report.healed),
        "failed": [{**_named(failed.backup), "reason": show_text(failed.reason)} for failed in report.failed],
        "there": report.there,
        "deleted_there": report.deleted_there,
        "bytes_read": report.bytes_read,
        "bytes_stored": report.bytes_stored,
        "new_chunks": report.new_chunks,
        "resealed_blocks": report.resealed_blocks,
        "damaged_manifests": list(report.damaged_manifests),
        "gone": [_named(backup) for backup in report.gone],
        "labels_carried": report.labels_carried,
        "labels_ended": report.labels_ended,
        "damaged_labels": list(report.damaged_labels),
    }


def _copied(backups: Sequence[CopiedBackup]) -> list[dict[str, Any]]:
    return [
        {**_named(each.backup), "target_manifest_id": each.manifest_id, "missing_bytes": each.missing_bytes}
        for each in backups
    ]


def _named(backup: Backup) -> dict[str, Any]:
    return {
        "id": show_text(backup.id),
        "short_id": backup.short_id,
        "source": show_text(backup.source_name),
        "time": time_field(backup.received_ns),
        "logical_bytes": backup.root.statistics.logical_bytes,
    }
