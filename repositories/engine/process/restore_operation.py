"""The operation `restore`: choose the backup and the target, restore it or tell what a restore would do.

Owns the choice. The engine's restore owns all the rest.
"""

from typing import Any

from repositories.engine.backup.options import Hooks
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.backups import LATEST, Backup
from repositories.engine.process.channel import Channel
from repositories.engine.process.introduction import introduce_reader
from repositories.engine.process.paths import inner_path
from repositories.engine.process.protocol import Log
from repositories.engine.process.reports import bucket_of, progress_event
from repositories.engine.process.requests import Request, RestoreOrder
from repositories.engine.process.restore_fields import doubted, plan_fields, restore_fields
from repositories.engine.process.what_is_left import choose_backup, is_in_part, is_past_sweeps
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.restore import (
    Deletion,
    Overwrite,
    RestoreRequest,
    in_place_target,
    plan,
    refuse_outside,
    restore,
)
from repositories.engine.storage.locations import directories_of


def restore_backup(request: Request, channel: Channel) -> dict[str, Any]:
    """Restore what the request orders, or tell what that would do. Damaged content is left out and told."""
    order = request.restore
    if order is None:
        raise ConfigurationError("a restore needs an order", hint="this is a defect of the caller")
    overwrite = _overwrite(order)
    bucket = bucket_of(request, channel)
    repository = introduce_reader(request, channel)
    backup = choose_backup(repository, order.backup, order.source, at_ns=order.at_ns)
    lost = repository.damaged_manifests()
    for name in lost:
        # The newest that is left may not be the newest that there was.
        channel.send(Log(level="warning", message=f"{name} is damaged in both copies: that backup is lost"))

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    hooks = Hooks(
        report=ProgressGate(report, SYSTEM_CLOCK.monotonic),
        cancelled=channel.cancelled,
        read_bucket=bucket,
        log=lambda level, message: channel.send(Log(level=level, message=message)),
    )
    wanted = RestoreRequest(
        target=_in_place(request, order, backup) if order.in_place else order.target,
        paths=tuple(inner_path(path, backup.root.source.id) for path in order.paths),
        overwrite=overwrite,
        verify=order.verify,
        keep_out=directories_of(repository.storage),
        deletion=Deletion(order.delete_before_ns, request.skip_paths) if order.delete else None,
    )
    if order.dry_run:
        fields = plan_fields(backup, wanted.target, plan(repository, backup, wanted, hooks))
    else:
        fields = restore_fields(backup, wanted.target, restore(repository, backup, wanted, hooks))
    lost = lost if order.backup == LATEST else []
    return doubted(fields, lost, inventory_lost=is_in_part(repository), sweep_lost=is_past_sweeps(repository))


def _in_place(request: Request, order: RestoreOrder, backup: Backup) -> bytes:
    target = in_place_target(backup, request.host)
    if order.in_place_roots:
        refuse_outside(target, order.in_place_roots, request.skip_paths)
    return target


def _overwrite(order: RestoreOrder) -> Overwrite:
    try:
        return Overwrite(order.overwrite)
    except ValueError:
        raise ConfigurationError(
            f"{show_text(order.overwrite)} says nothing about what to overwrite",
            hint=f"use one of {', '.join(Overwrite)}",
        ) from None
