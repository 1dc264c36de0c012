"""The operation `prune`: giving back the room of what no backup uses.

Owns the result's shape. The engine's prune owns all the rest.
"""

from typing import Any

from repositories.engine.backup.options import Hooks, LogLevel
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_text
from repositories.engine.format.kinds import ObjectKind, object_name
from repositories.engine.process.channel import Channel
from repositories.engine.process.introduction import introduce, introduce_writer, refuse_another
from repositories.engine.process.protocol import Log
from repositories.engine.process.reports import progress_event
from repositories.engine.process.requests import PruneOrder, Request
from repositories.engine.progress import Progress, ProgressGate
from repositories.engine.prune import PackUse, PrunePlan, PruneReport, PruneRequest, prune

PACKS_LISTED = 1000
_HELD_UP = 11
_LEFT_OUT = 3


def prune_repository(request: Request, channel: Channel) -> dict[str, Any]:
    """Prune the repository; with the request's `dry_run` nothing is written but a lease."""
    order = request.prune or PruneOrder()
    repository = introduce(request, channel) if request.dry_run else introduce_writer(request, channel)
    refuse_another(request, repository)
    if not request.dry_run and request.run is not None:
        repository.require_writable()
        channel.confirm("")

    def report(progress: Progress) -> None:
        channel.send(progress_event(progress, None))

    def log(level: LogLevel, message: str) -> None:
        channel.send(Log(level=level, message=message))

    hooks = Hooks(report=ProgressGate(report, SYSTEM_CLOCK.monotonic), cancelled=channel.cancelled, log=log)
    wanted = PruneRequest(order.max_unused_percent / 100, order.max_seconds, request.dry_run)
    return prune_fields(prune(repository, wanted, hooks))


def prune_fields(report: PruneReport) -> dict[str, Any]:
    """Return a prune's report as JSON values. The lists of the plan hold the first packs, the counts all of them."""
    return {
        "exit_code": _exit_code(report),
        "finished": report.finished,
        "dry_run": report.dry_run,
        "plan": _plan_fields(report.plan),
        "backups": report.backups,
        "deleted_backups": report.deleted_backups,
        "removed_backups": report.removed_backups,
        "deleted_packs": report.deleted_packs,
        "repacked_packs": report.repacked_packs,
        "unmarked_packs": report.unmarked_packs,
        "bytes_freed": report.bytes_freed,
        "bytes_read": report.bytes_read,
        "bytes_written": report.bytes_written,
        "removed_objects": report.removed_objects,
        "unindexed_chunks": report.unindexed,
        "sweep": report.sweep,
        "reserve_used": report.reserve_used,
        "reserve_lack": show_text(report.reserve_lack),
        "repack_stopped": report.repack_stopped,
        "repack_needs_bytes": report.repack_needs,
        "repack_free_bytes": report.repack_free,
        "waiting_for": [show_text(each) for each in report.waiting],
        "reserve_gone": report.reserve_gone,
    }


def _exit_code(report: PruneReport) -> int:
    if report.waiting:
        return _HELD_UP
    lacks_room = bool(report.repack_needs) and not report.dry_run
    return _LEFT_OUT if report.reserve_gone or lacks_room else 0


def _plan_fields(plan: PrunePlan) -> dict[str, Any]:
    return {
        "packs": plan.packs,
        "bytes": plan.bytes,
        "unused_bytes": plan.unused_before,
        "unused_bytes_after": plan.unused_after,
        "spared_packs": plan.spared,
        "delete_packs": len(plan.delete),
        "repack_packs": len(plan.repack),
        "bytes_to_read": plan.bytes_to_read,
        "bytes_to_free": plan.bytes_to_free,
        "delete": [_pack_fields(pack) for pack in plan.delete[:PACKS_LISTED]],
        "repack": [_pack_fields(pack) for pack in plan.repack[:PACKS_LISTED]],
    }


def _pack_fields(pack: PackUse) -> dict[str, Any]:
    name = object_name(ObjectKind.PACK, pack.pack_id)
    return {"pack": name, "bytes": pack.length, "used_bytes": pack.used, "indexed": pack.listed}
